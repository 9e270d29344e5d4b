"""The P-Chain: UTXOs, stakers, subnets and blockchains.

Rules are pure Python (`config`, `txs`, `state`, `executor`, `blocks`); rows stand around them
(`models`, `store`), then questions and use cases (`selectors`, `services`), then the doors (`api`,
`admin`, `tasks`, `management`). Begin with `api/__init__.py` for the methods.
"""
