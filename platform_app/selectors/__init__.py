"""Questions asked of the P-Chain, answered with values and raw bytes; how they look is the doors'.

`accepted` has blocks and transactions, `outputs` UTXOs and balances, `stakers` who validates,
now (from the chain's memory) and at any height (from `members`), `own_stake` how one node staked, `coins` what
a wallet can spend, `mempool` how much waits, `subnets` subnets and blockchains. For other nodes
`raw_blocks` has blocks and `waiting` transactions.
"""
