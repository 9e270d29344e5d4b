"""Celery tasks of the X-Chain: each task calls a service and returns a summary."""

import time

from celery import shared_task

from chaindb import clock
from chaindb.chains import is_left_out
from xchain_app.apps import avm_runtime
from xchain_app.services.runtime import AvmRuntime
from xchain_app.store import mempool

TURN = 0.05
"""Seconds after which a worker yields to other tasks: a worker also builds the other chains' blocks."""


@shared_task(name="xchain_app.tick")
def tick() -> dict[str, int]:
    """Heartbeat: build blocks for pending transactions, unless a producer process does it."""
    runtime = avm_runtime()
    return beat(runtime) if runtime.chain.producer.is_unattended() else {"blocks": 0}


@shared_task(name="xchain_app.build_blocks")
def build_blocks() -> dict[str, int]:
    """Build blocks until no transaction is pending, or until other tasks should get their turn."""
    return beat(avm_runtime())


def beat(runtime: AvmRuntime) -> dict[str, int]:
    """Build blocks until no transaction is pending, or until other tasks should get their turn."""
    chain = runtime.chain
    chain.producer.answer()
    if is_left_out(chain.name) or mempool.is_empty(chain.db):
        return {"blocks": 0}
    built = 0
    until = time.monotonic() + TURN
    while runtime.consensus.produce(now=clock.now()) is not None:
        built += 1
        if time.monotonic() > until:
            chain.producer.request()
            break
    return {"blocks": built}
