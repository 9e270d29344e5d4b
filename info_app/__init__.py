"""Information about the node: its identity, its version, its peers, and the state of its chains.

The app has no tables: it reads the chains and the network. `selectors` query them, `version` describes the software
and the upgrades of the network, and `api` serves them at `/ext/info`.
"""
