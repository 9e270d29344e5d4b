"""Backups of the whole node in one file, and its move to another database: made while it runs, verified when read.

`errors` has the reasons for refusals; `tables` and `files` select the content; `archive` is the file format, `manifest`
the description inside the file; `verification` compares; `service` saves and restores, `transfer` copies from SQLite to
PostgreSQL.
"""
