"""Wakes the block producer. Knows its task by name only, so that there is no circle of imports."""

from django.conf import settings

from chaindb.wakeup import Wakeup

PRODUCER = Wakeup("cchain_app.produce_blocks")


def request_block() -> None:
    """Ask for a block, where blocks are made on a transaction's arrival.

    For `transaction.on_commit` or after it.
    """
    if settings.NODE.mining == "auto":
        PRODUCER.request()


def answer_request() -> None:
    """Note that a worker looks at the pool from now on: what comes later must ask again."""
    PRODUCER.answer()
