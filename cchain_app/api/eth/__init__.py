"""The methods that every Ethereum client has: blocks, state, transactions, calls, logs and subscriptions."""
