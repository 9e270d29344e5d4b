"""Peer connections: TLS, frames, limits, and the lifecycle of a connection (p2p.md 1 to 7).

Start reading at `network`: its `Network` is the interface for the higher layers. `peer` handles one connection
from its handshake to its end. The package uses asyncio and no Django. `sync` handles the messages of the chains.
"""
