"""The reference of the RPC methods: an OpenRPC document, and the page that shows it.

Names, parameters and errors of a method come from the interfaces' own tables and the handlers' docstrings
(`entries`). This package adds the schemas of arguments (`arguments`) and of results (`results_…`, built from
`schemas`), and an example of each method (`examples.json`). `document` combines them, `page` shows them.
"""
