"""The rules of the C-Chain's blocks on a network of avalanchego nodes, as its VM coreth has them (coreth.md).

`header` and `block` contain the bytes of blocks, `gas_state` and `min_delay` the arithmetic of fees and of the delay
between blocks, `verification` the rules for a block and its parent, `rules` all of it as a `rules.port.ChainRules`.
Pure.
"""
