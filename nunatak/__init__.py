"""Nunatak for other projects' programs and tests: a node in a process of its own, and fixtures for pytest.

It is a client: it speaks to the node as everybody does, over JSON-RPC, and imports nothing of it but public keys.
Go on with `pytest_plugin.py`.
"""
