"""Wakes the builder of blocks. Knows its task by name only, so that there is no circle of imports."""

from chaindb.locks import Lock
from chaindb.wakeup import Wakeup

BUILDER = Wakeup("platform_app.build_blocks", Lock.PCHAIN_PRODUCER)


def request_block() -> None:
    """Ask for a block. In the transaction that stores what waits for it, or after it."""
    BUILDER.request()


def answer_request() -> None:
    """Note that a worker looks at the mempool from now on: what comes later must ask again."""
    BUILDER.answer()
