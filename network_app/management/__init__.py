"""Commands of the network."""
