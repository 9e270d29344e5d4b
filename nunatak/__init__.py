"""Nunatak for tests of other projects: a node in a separate process, and fixtures for pytest.

This package is a client. It talks to the node over JSON-RPC, like any other client, and imports nothing from the
node's code except the public development keys. The fixtures are in `pytest_plugin.py`.
"""
