"""Questions asked of the P-Chain, answered with values and raw bytes; how they look is the doors'.

`chain` has the tip, blocks and transactions, `outputs` UTXOs and balances, `stakers` who validates,
now (from `memory`) and at any height, `stays` what became of stakers, `subnets` subnets and
blockchains.
"""
