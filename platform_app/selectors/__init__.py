"""Queries of the P-Chain that return values and raw bytes; the API layer formats them.

`accepted` has blocks and transactions, `outputs` UTXOs and balances, `stakers` the validators and delegators,
now (from the chain's cache) and at any height, `own_stake` a node's own staking, `coins` the coins that a wallet
can spend, `mempool` the size of the mempool, `subnets` subnets and blockchains, `figures` totals for monitoring.
"""
