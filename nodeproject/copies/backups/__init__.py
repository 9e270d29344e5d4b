"""Backups of the whole node in one file, and its move to another database: made while it runs, verified when read.

`manifest` has the description inside the file and the reasons for refusals; `archive` is the file format; `service` saves,
restores and verifies; `transfer` copies from SQLite to PostgreSQL.
"""
