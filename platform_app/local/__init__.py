"""What only a local network does. Where a process's chain is made, it is given to it (`apps`)."""
