"""Backups of the whole node in one file, and its move to another database: made while it runs, verified when read.

`errors` has why one is refused; `tables` and `files` what it has; `archive` how the file is laid out, `manifest` what is
written down with it; `verification` compares; `service` saves and restores, `transfer` goes from SQLite to PostgreSQL.
"""
