"""Celery tasks of the P-Chain: each task calls a service and returns a summary."""

import time

from celery import shared_task

from chaindb import clock
from platform_app.apps import platform_chain, platform_runtime
from platform_app.services import clearing

TURN = 0.05
"""Seconds after which a worker yields to other tasks: a worker also builds the C-Chain's blocks."""


@shared_task(name="platform_app.tick")
def tick() -> dict[str, int]:
    """Heartbeat: build blocks that are due by time, unless a producer process does it."""
    return build_blocks() if platform_chain().producer.is_unattended() else {"blocks": 0}


@shared_task(name="platform_app.build_blocks")
def build_blocks() -> dict[str, int]:
    """Build blocks until nothing is left to include, or until other tasks should get their turn.

    Triggered by each transaction and by the clock, because stakers start and end without transactions.
    """
    runtime = platform_runtime()
    chain = runtime.chain
    chain.producer.answer()
    built = 0
    until = time.monotonic() + TURN
    while runtime.consensus.produce(now=clock.now()) is not None:
        built += 1
        if time.monotonic() > until:
            chain.producer.request()
            break
    if not built:
        clearing.drop_stale(chain, now=clock.now())
    return {"blocks": built}
