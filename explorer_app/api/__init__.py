"""APIs of other explorers, for their clients: Etherscan's at `/api` and `/v2/api`, Sourcify's below `/v2` and `/server/v2`.

Plain Django views, open to all clients and origins. Rules: explorer.md 1 to 5, 8 and 16.
"""
