"""Read-only admin pages for tables of any size. Independent of any chain.

Start with `read_only`, the base class of the pages. `changelist` has the lists: paging by key, search, and the message
about unknown filters. `export` downloads lists as CSV files. `actions` has the actions on a row and their log entries.
`terms` parses search terms, `display` and `formats` render values, and `dashboard` describes an app's part of the
first page.
"""
