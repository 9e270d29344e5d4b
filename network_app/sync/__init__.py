"""Reaching the network's frontier and staying there (p2p.md 7 to 10). asyncio without Django.

Begin with `router`, which is told of every message, and `handler`, which is one chain's life: `bootstrap`
first, then `voting`, or `producing` in the node that makes all blocks; `transactions` for the gossip.
What others ask of us is in `serving`. All is driven over `network_app.ports`, which tests fake.
"""
