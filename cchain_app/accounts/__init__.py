"""Accounts that a node signs for, on a development chain alone: their keys, and what is signed with them.

Transactions are signed by `txs.signing`. Who may send without a key is told by rows (`store.impersonation`).
"""
