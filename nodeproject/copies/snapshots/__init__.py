"""Named snapshots of the whole node: both chains, keystore, clock and pools, as of one moment.

`manifest` is what is written down with one, `tables` which rows it is of, `errors` why this node refuses to
save or restore one, `service` the use cases, `view` the admin's page. How a database is copied is in
`chaindb.snapshots`.
"""
