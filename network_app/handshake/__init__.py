"""Handshake messages of two nodes, and their verification (p2p.md 4). Pure.

The order of the messages and the connection itself are in `network_app.peers`.
"""
