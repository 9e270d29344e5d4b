"""Accounts for which the node holds keys, only on a development chain: the keys, and signing messages.

Transactions are signed by `txs.signing`. Accounts that can send without a key are rows (`store.accounts`).
"""
