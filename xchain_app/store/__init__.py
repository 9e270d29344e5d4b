"""The only code that writes rows of the X-Chain: blocks with their changes, the state for the rules, the mempool."""
