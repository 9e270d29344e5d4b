"""The C-Chain: an EVM chain with all its state in the ORM.

Layers from the inside out: `config`, `txs`, `blocks`, `evm`, `pool`, `feemarket` and `filters` are pure
Python. `models` defines the tables, `store` writes rows, `selectors` reads them, and `services` holds the use
cases. `api`, `consumers`, `admin`, `tasks` and `management` are the entry points.
"""
