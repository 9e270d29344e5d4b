"""The chains for the network: `ports.AcceptedChain`, built from the proposer VM around each chain's own VM.

`chain` is the interface for the network. It answers requests from the database and passes blocks of other nodes to
`accepting`, which relies on the beacons for which blocks the network has accepted. `voting` decides on new blocks.
`outer_blocks` stores outer blocks as rows, `validators` reads from the P-Chain which nodes may propose, and
`wrapping` adds outer blocks to accepted blocks that have none. `backend` is the interface to the inner chains besides
their VM, `platform`, `cchain` and `avm` implement it.
"""
