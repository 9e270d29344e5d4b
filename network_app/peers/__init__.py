"""The connections of this node: TLS, frames, limits, and one connection's life (p2p.md 1 to 7).

Begin with `network`, whose `Network` is what the rooms above see; `peer` is one connection from
its handshake to its end. asyncio without Django; what the messages mean for a chain is in `sync`.
"""
