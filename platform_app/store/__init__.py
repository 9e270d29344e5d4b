"""The only writer of the P-Chain's rows.

`blocks` commits blocks, `state` is the rows as rules see them, `mempool` is what waits, `uptime` who
was online. `outputs`, `staking` and `subnets` write their part of a block; `rows` turns
values into rows and back. The caller holds the lock and the transaction.
"""
