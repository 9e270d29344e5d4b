"""Storage of contracts by the names of their variables, in Solidity's layout. Pure."""
