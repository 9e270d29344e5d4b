"""What monitoring sees of the node: the page at /ext/metrics, and who counts what for it.

Begin with `exposition`. A process counts into a `process.ProcessMetrics`, which `listeners` tell of the
database and of Celery; `sharing` adds up what several processes counted; `chains`, `network` and
`consensus` ask rows,
`rows` does so within a time. Names and meanings are in the `catalogue`.
"""
