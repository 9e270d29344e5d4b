"""The C-Chain's Celery tasks: each calls a service and returns the number of things it did."""

import time
from typing import Final

from celery import shared_task

from cchain_app.apps import evm_chain
from cchain_app.selectors import development
from cchain_app.services import admissions, calls, pruning
from cchain_app.services.production import produce
from chaindb import clock

TURN = 1.0
"""Seconds after which a worker that builds blocks lets other tasks run, or a shutdown proceed."""

LINGER = 0.01
"""Seconds that it waits for the next transaction after a block. Other tasks are delayed by as much."""

PRUNING: Final = {"embedded": 0.1, "production": 0.5}
"""Seconds of every two seconds spent on deleting history, by profile: the embedded worker builds the blocks, too."""


@shared_task(name="cchain_app.produce_blocks")
def produce_blocks() -> dict[str, int]:
    """Build blocks until the pool has no executable transaction, or it is the turn of other tasks.

    After a block the task waits briefly for the next transaction. That avoids a message through the broker, which
    takes as long as the block.
    """
    chain = evm_chain()
    made = 0
    until = time.monotonic() + TURN
    with chain.producer.attending():
        while True:
            if produce(chain, "auto"):
                made += 1
            elif not made or not chain.producer.wait(LINGER):
                break
            if time.monotonic() > until:
                if development.mining(chain) == "auto":
                    chain.producer.request()
                break
    return {"blocks": made}


@shared_task(name="cchain_app.tick")
def tick() -> dict[str, int]:
    """Run the periodic work of `beat` if no producer process is running."""
    return beat() if evm_chain().producer.is_unattended() else {"blocks": 0}


def beat() -> dict[str, int]:
    """Build a block that is due: the next one in interval mode; in auto mode one whose request was lost.

    Unspecified: interval mode builds empty blocks too, like Anvil and geth's clique.
    """
    chain = evm_chain()
    development.see_conditions(chain)
    mining = development.mining(chain)
    if mining == "auto":
        made: dict[str, int] = produce_blocks()
        return made
    if mining == "interval":
        return {"blocks": int(produce(chain, "interval", allow_empty=True))}
    return {"blocks": 0}


@shared_task(name="cchain_app.expire_pool")
def expire_pool() -> dict[str, int]:
    """Drop transactions that have been queued for too long."""
    return {"expired": admissions.expire(evm_chain(), now=clock.wall())}


@shared_task(name="cchain_app.index_calls")
def index_calls() -> dict[str, int]:
    """Write the internal calls of some transactions as rows, if NODE_TRACE_INDEX says so."""
    chain = evm_chain()
    if not (chain.node.indexes_calls and (seconds := chain.indexing.seconds("calls"))):
        return {"blocks": 0}
    return {"blocks": calls.index_calls(chain, seconds=seconds)}


@shared_task(name="cchain_app.prune_history")
def prune_history() -> dict[str, int]:
    """Delete some of the old states and calls, if NODE_HISTORY_STATE and NODE_HISTORY_CALLS say so."""
    chain = evm_chain()
    return pruning.prune(chain, seconds=PRUNING[chain.node.profile])._asdict()
