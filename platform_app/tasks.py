"""Celery's door to the P-Chain: each task calls a service and says what it did."""

import time

from celery import shared_task

from chaindb import clock
from platform_app.apps import platform_chain
from platform_app.services import clearing

TURN = 0.05
"""Seconds after which a worker lets other tasks in: where there is one, it makes the C-Chain's blocks too."""


@shared_task(name="platform_app.tick")
def tick() -> dict[str, int]:
    """The heartbeat: what the clock brings is done here where no producer's process does it."""
    return build_blocks() if platform_chain().producer.is_unattended() else {"blocks": 0}


@shared_task(name="platform_app.build_blocks")
def build_blocks() -> dict[str, int]:
    """Build blocks until there is nothing to put in, or others should have their turn.

    Woken by each transaction, and by the clock: stakers begin and end when nobody issues anything.
    """
    chain = platform_chain()
    chain.producer.answer()
    built = 0
    until = time.monotonic() + TURN
    while chain.consensus.produce(now=clock.now()) is not None:
        built += 1
        if time.monotonic() > until:
            chain.producer.request()
            break
    if not built:
        clearing.drop_stale(chain, now=clock.now())
    return {"blocks": built}
