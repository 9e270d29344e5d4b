"""Hypothetical blocks of eth_simulateV1, executed one after another on an accepted block (tracing.md 14). Pure.

`plan` determines the blocks, `calls` converts calls to transactions, `execution` executes them, and the chain's rules
assemble blocks from the results that `assembly` combines.
"""
