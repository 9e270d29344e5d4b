"""Commands of the C-Chain."""
