"""What two nodes say of themselves before they talk, and what is believed of it (p2p.md 4). Pure.

The order of the messages and the connection itself are in `network_app.peers`.
"""
