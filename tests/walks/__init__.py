"""Counts the files of the node that a request passes through: `python -m tests.walks` (docs/architecture.md)."""
