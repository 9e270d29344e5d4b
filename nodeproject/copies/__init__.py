"""Copies of a whole node: backups, snapshots and the move to another database."""
