"""Read-only admin pages for tables of any size. Independent of any chain.

Start with `read_only`, the base class of the pages. `changelist` has the paging of lists, `terms` parses search
terms, `display` and `formats` render values and the addresses of pages, `actions` has the actions on rows and the
export of lists as CSV files, `refusals` the messages for missing rows and unknown filters, and `dashboard` describes
an app's part of the first page.
"""
