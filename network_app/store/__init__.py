"""The only writer of the network's rows."""
