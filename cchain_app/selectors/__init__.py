"""Queries of the C-Chain, answered from process memory where possible, else from rows.

`memory` holds the data that a process caches; `blocks`, `state`, `logs`, `pool`, `proofs`, `state_search` and `tracing`
contain the queries.
"""
