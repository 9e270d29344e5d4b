"""The addresses and transactions known here, and the selection of those to send (p2p.md 5, 8).

Pure: times are arguments, messages are sent by `peers` and `sync`. Filters are in `network_app.bloom`.
"""
