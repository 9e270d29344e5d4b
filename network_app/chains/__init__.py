"""The chains as the network needs them: `ports.AcceptedChain` made of the proposer VM around each chain's own VM.

`outer_blocks` keeps outer blocks as rows, `validators` answers from the P-Chain who may propose, and
`wrapping` sees to it that all accepted blocks have outer ones. `consensus` decides on them. `chain` is what
the network sees: it answers from rows, and hands others' blocks to `accepting`, which believes what `trust`
says. `inner`, `platform` and `cchain` are what else is asked of the chains inside.
"""
