"""The C-Chain: an EVM chain with all its state in the ORM.

Rings from the inside out: `config`, `txs`, `blocks`, `evm`, `pool`, `feemarket` and `filters` are pure
Python; `models` are rows, `store` writes them, `selectors` reads them, `services` are the use cases;
`api`, `consumers`, `admin`, `tasks` and `management` are doors.
"""
