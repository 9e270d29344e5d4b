"""Reaching the network's frontier and staying there (p2p.md 7 to 10). asyncio without Django.

Begin with `engine`, which is told of every message, and `line`, which is one chain's life: `bootstrap`
first, then `following`, `polling` and `announcing` beside each other, `transactions` for the gossip.
What others ask of us is in `serving`. All is driven over `network_app.ports`, which tests fake.
"""
