"""The explorer: public pages about both chains, names for calls and events of contracts, and verified contracts."""
