"""The only writer of the C-Chain's rows, and the reader of state for the engines."""
