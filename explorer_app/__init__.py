"""The explorer: pages about both chains for everybody, names for what contracts do, and verified contracts."""
