"""Use cases of the C-Chain: one function, one transaction; events are published after the commit."""
