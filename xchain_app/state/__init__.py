"""The state of the X-Chain as rules see it, and changes on top of it."""
