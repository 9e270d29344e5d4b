"""The only writer of the C-Chain's rows, and the state that engines read from them."""
