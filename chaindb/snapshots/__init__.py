"""Named copies of a database: stored beside it, and restored into it while others use it.

`errors` has the reasons for a refusal, `port` the common interface, `sqlite` stores copies in files,
`postgresql` in schemas. The caller decides which tables are restored and how a copy is described.
"""
