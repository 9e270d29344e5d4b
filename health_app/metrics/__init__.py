"""Metrics of the node: the page at /ext/metrics, and the counting behind it.

Start with `exposition`. Each process counts in a `process.ProcessMetrics`; `listeners` feed it with database statements
and Celery tasks, and `sharing` adds up the counts of several processes. `chains` and `network` query
the database, which `exposition` does with a timeout. Names and meanings are in the `catalogue`.
"""
