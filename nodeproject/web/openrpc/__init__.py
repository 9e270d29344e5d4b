"""The reference of the RPC methods: an OpenRPC document, and the page that shows it.

What a method is called, takes and may fail with comes from the interfaces' own tables and the handlers'
docstrings (`entries`). Written down here is what those do not say: the form of arguments (`arguments`) and of
results (`results_…`, in terms of `schemas_…`), and an example of each (`examples.json`). `document` puts it
together, `page` shows it.
"""
