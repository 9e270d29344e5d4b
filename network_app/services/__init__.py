"""Use cases of the network: one function, one transaction."""
