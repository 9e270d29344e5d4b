"""What the log says of blocks, transactions and calls of a development chain: found and worded. Pure."""
