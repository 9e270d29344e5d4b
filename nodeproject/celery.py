"""The Celery app: `celery -A nodeproject.celery worker` in production, a thread in the embedded profile."""

import logging
import os
import sys
from functools import cached_property
from typing import Any, Final

from celery import Celery, platforms
from celery.apps.beat import Beat
from celery.signals import beat_init, task_postrun, worker_init
from typing_extensions import override

from nodeproject.startup.profile import choose_settings

choose_settings()
# Celery runs all of Django's system checks in each worker, which loads all pages, and shows no results.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

_log: Final = logging.getLogger(__name__)


class _Beat(Beat):
    """A beat that a signal ends at any point."""

    @override
    def install_sync_handler(self, service: Any) -> None:
        """End at SIGTERM and SIGINT by an exception; the shutdown then writes the schedule (`Service.start`).

        Celery's own handler writes the schedule inside the code that the signal interrupts. During a
        transaction this closes the connection and fails, the code that catches errors there logs the
        failure, and the beat continues as if it had received no signal.
        """
        platforms.signals.update(SIGTERM=_end, SIGINT=_end)


def _end(*_: object) -> None:
    sys.exit()


class _App(Celery):
    @cached_property
    @override
    def Beat(self) -> Any:
        return self.subclass_with_self(_Beat)


app = _App("node", amqp="nodeproject.processes.broker:BrokerAMQP")
app.config_from_object("django.conf:settings", namespace="CELERY")
# A block takes a few milliseconds: a new connection for each task would double that. `release`
# below cleans up after a task instead.
app.conf.CELERY_DB_REUSE_MAX = 1_000_000
app.autodiscover_tasks()


@worker_init.connect
def _observe_worker(**_kwargs: Any) -> None:
    """Collect this process's metrics; in the embedded profile the web server's process collects them."""
    from nodeproject.apps import this_node

    _name_unknown_variables()
    this_node().observation.observe_worker()
    this_node().begin_transaction_logs()


@beat_init.connect
def _observe_beat(**_kwargs: Any) -> None:
    """Collect the metrics of the beat's process."""
    from nodeproject.apps import this_node

    _name_unknown_variables()
    this_node().observation.observe("beat")


def _name_unknown_variables() -> None:
    """Log misspelled settings, as each command of `manage.py` does: Celery shows no system checks.

    It logs nothing in the embedded profile, where this process is such a command.
    """
    from django.conf import settings

    from nodeproject.startup.checks import check_variables

    if settings.NODE.common.profile == "embedded":
        return
    for message in check_variables():
        _log.log(message.level, message.msg)


@task_postrun.connect
def _release_connections(sender: Any, **_kwargs: Any) -> None:
    """Release connections after a task and drop broken ones; Celery's own handling is disabled above."""
    if not sender.request.is_eager:
        from chaindb.connections import release

        release()
