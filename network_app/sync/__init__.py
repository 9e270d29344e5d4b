"""Bootstraps chains to the network's frontier and keeps them there (p2p.md 7 to 10). asyncio without Django.

Begin with `router`, which receives every message, and `handler`, which runs one chain: first `bootstrap`,
then `voting`, or `producing` in the block producer; `transactions` handles gossip. `serving` answers peers.
The package depends on `network_app.ports`, for which tests provide fakes.
"""
