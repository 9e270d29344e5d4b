"""The Celery app: `celery -A nodeproject.celery worker` in production, a thread in the embedded profile."""

from typing import Any

from celery import Celery
from celery.signals import task_postrun

from nodeproject.profile import choose_settings

choose_settings()

app = Celery("node")
app.config_from_object("django.conf:settings", namespace="CELERY")
# A block takes a few milliseconds: a new connection for each task would double that. `release`
# below does what is needed after a task.
app.conf.CELERY_DB_REUSE_MAX = 1_000_000
app.autodiscover_tasks()


@task_postrun.connect
def _release_connections(sender: Any, **_kwargs: Any) -> None:
    """Give connections back after a task, and drop broken ones: Celery's own way is off (above)."""
    if not sender.request.is_eager:
        from chaindb.connections import release

        release()
