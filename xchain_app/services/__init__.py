"""Use cases of the X-Chain, one database transaction each."""
