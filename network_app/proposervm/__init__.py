"""Outer blocks, which wrap a chain's blocks, and the schedule of proposers (p2p.md 11). Pure.

Blocks of all chains travel as outer blocks: `block` parses and builds them, `layout` identifies the
proposer and checks the signature. `verification` checks whether a block may follow another, with `epochs`
and `windower`, which draws the proposer of each five-second slot by stake (`sampler`).
`building` creates the next outer block.
"""
