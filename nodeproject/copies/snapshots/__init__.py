"""Named snapshots of the whole node: both chains, keystore, clock and pools, as of a single moment.

`manifest` is the description of a snapshot, with the reasons why this node refuses to save or restore one; `service` has
the use cases, `view` the admin's page. The copying of a database is in `chaindb.snapshots`.
"""
