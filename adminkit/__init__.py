"""Read-only admin pages for tables of any size. Independent of any chain.

Start with `read_only`, the base class of the pages. `changelist` has the paging of lists, `terms` and
`identifiers` parse search terms, `display` and `formats` render values, `exports` writes lists as CSV files,
`refusals` has the messages for missing rows and unknown filters, `overview` describes an app's part of the
first page, `charts` draws its rates, `row_actions` defines the available actions, `links` the addresses of the pages.
"""
