"""What the rules may see and change: the state's protocol, stakers, copy-on-write diffs. Pure."""
