"""The Celery app: `celery -A nodeproject.celery worker` in production, a thread in the embedded profile."""

from typing import Any

from celery import Celery
from celery.signals import beat_init, task_postrun, worker_init

from nodeproject.profile import choose_settings

choose_settings()

app = Celery("node")
app.config_from_object("django.conf:settings", namespace="CELERY")
# A block takes a few milliseconds: a new connection for each task would double that. `release`
# below does what is needed after a task.
app.conf.CELERY_DB_REUSE_MAX = 1_000_000
app.autodiscover_tasks()


@worker_init.connect
def _observe_worker(**_kwargs: Any) -> None:
    """Count what this process does; in the embedded profile the web server's process does so."""
    from nodeproject.observation import observe_work

    observe_work()


@beat_init.connect
def _observe_beat(**_kwargs: Any) -> None:
    """Count what the beat's process does."""
    from nodeproject.observation import observe_beat

    observe_beat()


@task_postrun.connect
def _release_connections(sender: Any, **_kwargs: Any) -> None:
    """Give connections back after a task, and drop broken ones: Celery's own way is off (above)."""
    if not sender.request.is_eager:
        from chaindb.connections import release

        release()
