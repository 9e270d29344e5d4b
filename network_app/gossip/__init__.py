"""What is known here and what to tell whom: addresses of validators, and transactions (p2p.md 5, 8).

Pure: times are arguments, messages are sent by `peers` and `sync`. Filters are in `network_app.bloom`.
"""
