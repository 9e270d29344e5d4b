"""The Celery app: `celery -A nodeproject.celery worker` in production, a thread in the embedded profile."""

import logging
from typing import Any, Final

from celery import Celery
from celery.signals import beat_init, task_postrun, worker_init

from nodeproject.profile import choose_settings

choose_settings()

_log: Final = logging.getLogger(__name__)

app = Celery("node", amqp="nodeproject.reconnecting:BrokerAMQP")
app.config_from_object("django.conf:settings", namespace="CELERY")
# A block takes a few milliseconds: a new connection for each task would double that. `release`
# below does what is needed after a task.
app.conf.CELERY_DB_REUSE_MAX = 1_000_000
app.autodiscover_tasks()


@worker_init.connect
def _observe_worker(**_kwargs: Any) -> None:
    """Count what this process does; in the embedded profile the web server's process does so."""
    from nodeproject.apps import this_node

    _name_unknown_variables()
    this_node().observation.observe_worker()


@beat_init.connect
def _observe_beat(**_kwargs: Any) -> None:
    """Count what the beat's process does."""
    from nodeproject.apps import this_node

    _name_unknown_variables()
    this_node().observation.observe("beat")


def _name_unknown_variables() -> None:
    """Name misspelled settings, as each command of `manage.py` does: Celery shows no system checks.

    In the embedded profile this is such a command's process.
    """
    from django.conf import settings

    from nodeproject.checks import check_variables

    if settings.NODE.profile == "embedded":
        return
    for message in check_variables():
        _log.log(message.level, message.msg)


@task_postrun.connect
def _release_connections(sender: Any, **_kwargs: Any) -> None:
    """Give connections back after a task, and drop broken ones: Celery's own way is off (above)."""
    if not sender.request.is_eager:
        from chaindb.connections import release

        release()
