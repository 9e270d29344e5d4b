"""The parts that chains with unspent transaction outputs (UTXOs) have in common. Pure: no Django, no clock.

The package knows no chain. Type IDs differ by chain, so functions that need bytes take the chain's codec. A chain
adds its own outputs by implementing the interfaces of `components`: the P-Chain's stakeable locks, for example.

`components` is the layout of owners, inputs, outputs and credentials, `well_formed` checks them without state,
`spending` checks signatures against owners and compares consumed with produced amounts. For wallets, `coins` has
keys that sign and selects the UTXOs to spend. `errors` has the reasons for rejecting a transaction.
"""
