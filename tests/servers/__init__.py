"""Servers that tests start on free ports and end by their process ids: PostgreSQL, Redis, the node."""
