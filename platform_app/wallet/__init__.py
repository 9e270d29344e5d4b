"""The wallet of this node's keystore: choosing coins, building and signing transactions. Pure.

`wallet` has the inputs for building a transaction, `coins` selects the coins to spend, `transactions` builds
transactions, `moving` builds transfers within and between chains. Secrets: `sealing` encrypts keys, `backup` is
the format for exporting a user, `passwords` checks password strength. Keys in memory are a `utxo.coins.Keychain`.
"""
