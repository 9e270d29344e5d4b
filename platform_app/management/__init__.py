"""Commands of the P-Chain."""
