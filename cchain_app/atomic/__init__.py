"""Atomic transactions of the C-Chain, which move coins from and to the other chains of the Primary Network. Pure.

An import credits accounts by withdrawals (EIP-4895), an export debits accounts before the block. A block carries the
transactions as a payload, to which the extra data of its header commits (atomic.md 12).
"""
