"""The state that rules read and change: its protocol, stakers, copy-on-write diffs. Pure."""
