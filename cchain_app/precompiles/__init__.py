"""The stateful precompiles of Avalanche's EVM chains: allow lists, native minter, managers, warp (etna.md 12.5). Pure.

`active` has the value that a chain's rules give the engines, `schedule` says when each precompile begins, and
`predicates` reads the warp messages in access lists. The engines execute the calls: `evm.reference_stateful`, and the
crate's `stateful`.
"""
