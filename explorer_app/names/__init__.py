"""Names of functions, events and errors of contracts: from their ABI, else from lists of common ones. Pure."""
