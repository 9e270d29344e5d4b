"""Servers that tests start on free ports and stop by process ID: PostgreSQL, Redis, the node."""
