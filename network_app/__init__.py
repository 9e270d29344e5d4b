"""The network of nodes: peer protocol, following and bootstrapping, gossip (p2p.md).

It builds on the chains, and passes blocks and transactions to their services. `wire`, `handshake`, `bloom`,
`proposervm`, `snowman` and `gossip` are pure; `peers`, `sync` and `consensus` use asyncio without Django. The other
modules have the rows and the external interfaces. Start reading at `ports`, which has the interfaces between the parts.
"""
