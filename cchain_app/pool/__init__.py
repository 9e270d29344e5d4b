"""The rules of the transaction pool: which transactions are admitted, evicted, and mined next. Pure.

Start reading with `entry`, then `ordering` (pending and queued), `delegation`, `admission`,
`eviction`.
"""
