"""The wallet of this node's keystore: choosing coins, building and signing transactions. Pure.

`wallet` has the inputs for building a transaction and selects the coins to spend, `transactions` builds
transactions, `moving` builds transfers within and between chains. `sealing` encrypts keys and exported users,
`requirements` checks passwords and staking terms. Keys in memory are a `utxo.coins.Keychain`.
"""
