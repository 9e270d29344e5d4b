"""The P-Chain: UTXOs, stakers, subnets and blockchains.

Rules are pure Python (`config`, `txs`, `state`, `executor`, `blocks`). Around them are the database rows
(`models`, `store`), the queries and use cases (`selectors`, `services`), and the entry points (`api`,
`admin`, `tasks`, `management`). Begin with `api/__init__.py` for the methods.
"""
