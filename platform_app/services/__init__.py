"""Use cases of the P-Chain: each function is one transaction, and tells others after commit."""
