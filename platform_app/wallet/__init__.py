"""The wallet of this node's keystore: choosing coins, building and signing transactions. Pure.

`wallet` has the inputs for building a transaction, `coins` selects the coins to spend, `transactions` builds
transactions, `moving` builds transfers within and between chains. Secrets: `keychain` holds keys in memory,
`sealing` encrypts them, `backup` is the format for exporting a user, `passwords` checks password strength.
"""
