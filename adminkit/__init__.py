"""Read-only pages of the admin for rows of any length. Knows no chain.

`read_only` is where to begin: a page's class. `changelist` has the lists' paging, `terms` and
`identifiers` what a search box takes, `display` and `formats` how values look, `exports` lists as
files, `refusals` what is said where there is nothing to show, `overview` what the first page says of an app, `charts` its rates, `deeds` what may be
done, `links` where
the pages are.
"""
