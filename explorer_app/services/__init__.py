"""What the explorer does: verifying contracts. Each use case is a transaction of its own."""
