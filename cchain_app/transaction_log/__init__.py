"""Log entries for the blocks, transactions and calls of a development chain, and their text. Pure."""
