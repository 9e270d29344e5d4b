"""Celery's door to the C-Chain: each task calls a service and says what it did."""

import time

from celery import shared_task

from cchain_app.apps import evm_chain
from cchain_app.services import scheduling, transactions
from chaindb import clock

TURN = 1.0
"""Seconds after which a worker that makes blocks lets other tasks in, and a shutdown."""


@shared_task(name="cchain_app.produce_blocks")
def produce_blocks() -> dict[str, int]:
    """Make blocks until nothing in the pool can be mined, or others should have their turn."""
    chain = evm_chain()
    scheduling.answer_request(chain)
    made = 0
    until = time.monotonic() + TURN
    while chain.consensus.produce(now=clock.now()) is not None:
        made += 1
        if time.monotonic() > until:
            scheduling.request_block(chain)
            break
    return {"blocks": made}


@shared_task(name="cchain_app.tick")
def tick() -> dict[str, int]:
    """The heartbeat: what the clock brings is done here where no producer's process does it."""
    return beat() if evm_chain().producer.is_unattended() else {"blocks": 0}


def beat() -> dict[str, int]:
    """Do what the clock brings: a block in interval mode; in auto mode one whose request was lost.

    Unspecified: by interval empty blocks are made too, as Anvil and geth's clique do.
    """
    chain = evm_chain()
    if chain.node.mining == "auto":
        made: dict[str, int] = produce_blocks()
        return made
    if chain.node.mining == "interval":
        block = chain.consensus.produce(now=clock.now(), allow_empty=True)
        return {"blocks": 0 if block is None else 1}
    return {"blocks": 0}


@shared_task(name="cchain_app.expire_pool")
def expire_pool() -> dict[str, int]:
    """Drop transactions that have waited too long."""
    return {"expired": transactions.expire(evm_chain(), now=clock.now())}
