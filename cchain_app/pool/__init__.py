"""The rules of the transaction pool: which transactions are admitted, evicted, and mined next. Pure.

Start reading with `entry`, then `checks` (without accounts), `queues` (pending and queued), `delegation`, `eviction`.
"""
