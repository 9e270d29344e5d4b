"""The network of nodes: the peer protocol, following and bootstrapping, gossip (p2p.md).

Above both chains: it hands them blocks and transactions through their services. Pure rooms are `wire`,
`handshake`, `bloom`, `proposervm`, `snowman` and `gossip`; `peers`, `sync` and `consensus` are asyncio without
Django; rows and doors are the rest. Begin with `ports`: it says who asks whom for what.
"""
