"""The only writer of the P-Chain's rows.

`blocks` commits blocks, `state` presents the rows to the rules, `mempool` has pending transactions, and
`uptime` has connected nodes and validator uptimes. `utxos`, `staking` and `facets` write their part of a
block; `rows` converts values to rows and back. The caller holds the lock and the transaction.
"""
