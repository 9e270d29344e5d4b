"""Copies of a whole node: backups, snapshots and the move to another database.

A backup is one file, made while the node runs and verified when it is read: `backups` saves, restores and verifies,
`backup_archive` is the file format, `backup_manifest` the description inside it, with the reasons for refusals. `transfer`
moves a node from SQLite to PostgreSQL.

A named snapshot has the node as of a single moment: all chains, keystore, clock and pools. `snapshots` has the use cases, `snapshot_manifest` the description, with the reasons for refusals,
`snapshot_view` the admin's page. The copying of a database is in `chaindb.snapshots`. `tables` selects the rows of both.
"""
