"""Read-only pages of the admin for rows of any length. Knows no chain.

`read_only` is where to begin: a page's class. `changelist` has the lists' paging, `terms` and
`identifiers` what a search box takes, `display` and `formats` how values look, `exports` lists as
files, `overview` what the first page says of an app, `links` where
the pages are.
"""
