"""What monitoring sees of the node: the page at /ext/metrics, and who counts what for it.

Begin with `exposition`. The hot path counts into `sources` (plain Python); `counted` reads that, `shared`
adds up what several processes counted (`ledger`, `files`); `chains`, `network` and `database` ask rows,
`rows` does so within a time; `statements` and `celery_tasks` listen to Django and Celery.
"""

from health_app.metrics.exposition import exposition
from health_app.metrics.shared import router, start
from health_app.metrics.sources import SOURCES

__all__ = ["SOURCES", "exposition", "router", "start"]
