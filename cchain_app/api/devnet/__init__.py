"""The methods of a development chain: accounts, state, mining, snapshots."""
