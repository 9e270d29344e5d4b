"""Storage of contracts by the names of their variables, as Solidity lays it out. Pure."""
