"""Counts through which files of the node a request passes: `python -m tests.walks` (docs/architecture.md)."""
