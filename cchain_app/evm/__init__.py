"""The EVM behind a port: `engine` defines the port, `native` and `reference` implement it. Pure.

Nothing outside this package names an engine; `select` picks one.
"""
