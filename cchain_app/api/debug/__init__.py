"""The debug_ methods of go-ethereum: traces and ranges of state."""
