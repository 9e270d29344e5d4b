"""Use cases of the C-Chain: one function, one transaction; events go out after commit."""
