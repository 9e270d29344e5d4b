"""Questions asked of the C-Chain: answered from process memory where it holds them, else by rows.

`memory` is what a process keeps; `blocks`, `state`, `logs`, `nonces`, `pool`, `proofs` and `tracing` are the
questions.
"""
