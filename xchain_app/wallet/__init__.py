"""Building and signing of transactions with keys of the node's keystore (xchain.md 16)."""
