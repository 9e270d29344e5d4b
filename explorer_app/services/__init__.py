"""What the explorer writes, use case by use case: each write is one transaction."""
