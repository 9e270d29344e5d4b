"""Blocks that never were: what eth_simulateV1 runs, one after another, on an accepted one (tracing.md 14). Pure.

`plan` says which blocks there are, `calls` what transaction a call becomes; `execution` runs them, and
`assembly` makes blocks of what they did.
"""
