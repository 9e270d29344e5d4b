"""The proposer's wrapping of blocks, and who may propose when (p2p.md 11). Pure.

Blocks of both chains travel as outer blocks: `block` reads and builds them, `signing` is about who
signed. `verification` says whether one may follow another, with `epochs` and `windower`, which draws
the proposer of each slot of five seconds by stake (`sampler`, `twister`). `building` makes the next one.
"""
