"""Interfaces of other explorers, for their clients: Etherscan's at `/api` and `/v2/api`, Sourcify's below `/v2` and `/server/v2`.

Plain Django views, for everybody, whatever their origin. Rules: explorer.md 1 to 5, 8 and 16.
"""
