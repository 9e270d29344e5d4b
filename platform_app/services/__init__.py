"""Use cases of the P-Chain: what each writes is one transaction, and others are told after commit."""
