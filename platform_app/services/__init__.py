"""Use cases of the P-Chain: each writes in one transaction and notifies subscribers after the commit."""
