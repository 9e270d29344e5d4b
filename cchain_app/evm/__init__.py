"""The EVM behind a port: `engine` says what is asked of it, `native` and `reference` answer. Pure.

Nothing outside this package names an engine; `select` picks one.
"""
