"""Named copies of a database: kept beside it, and put back into it while others use it.

`errors` has why one is refused, `port` what both kinds can do, `sqlite` copies in files, `postgresql` copies
in schemas. Which tables are put back, and what is written down with a copy, is their caller's.
"""
