"""The rules of the transaction pool: who gets in, who must leave, and what goes next. Pure.

Begin with `entry` and `limits`, then `ordering` (what is pending), `delegation`, `admission`,
`eviction`.
"""
