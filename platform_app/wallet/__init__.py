"""The wallet of this node's keystore: choosing coins, building and signing transactions. Pure.

`wallet` is what a transaction is built from, `coins` chooses what it spends, `transactions` builds it,
`moving` moves funds between chains. Secrets: `keychain` holds keys in memory, `sealing` seals them,
`backup` is the form in which a user leaves the node, `passwords` says which are good enough.
"""
