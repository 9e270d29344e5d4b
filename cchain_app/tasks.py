"""The Celery tasks of EVM chains: each calls a service and returns the number of things it did.

A task works on the chain that it is given by name, without a name on each EVM chain of the process in turn.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

from celery import shared_task

from cchain_app.apps import evm_runtimes, find_chains, find_evm_runtime
from cchain_app.selectors import development
from cchain_app.services import calls, pruning, removal
from cchain_app.services.production import produce
from cchain_app.services.runtime import EvmRuntime
from chaindb import clock
from primitives.ids import PRIMARY_NETWORK_ID

TURN = 1.0
"""Seconds after which a worker that builds blocks lets other tasks run, or a shutdown proceed."""

LINGER = 0.01
"""Seconds that it waits for the next transaction after a block. Other tasks are delayed by as much."""

PRUNING: Final = {"embedded": 0.1, "production": 0.5}
"""Seconds of every two seconds spent on deleting history, by profile: the embedded worker builds the blocks, too."""


TURNS: Final = 5
"""Calls of a periodic task after which each of the subnets' chains has had its turn."""

_log: Final = logging.getLogger(__name__)

Done = dict[str, int]
"""Numbers of things done, by kind."""


class UnknownChain(LookupError):
    """A task was sent for a chain that this node does not have."""


@shared_task(name="cchain_app.produce_blocks")
def produce_blocks(chain: str | None = None) -> Done:
    """Build blocks until the pool has no executable transaction, or it is the turn of other tasks.

    After a block the task waits briefly for the next transaction. That avoids a message through the broker, which
    takes as long as the block.
    """
    return _on_each(chain, build_blocks)


def build_blocks(runtime: EvmRuntime) -> Done:
    """Build a chain's blocks; see `produce_blocks`."""
    chain, made = runtime.chain, 0
    until = time.monotonic() + TURN
    with chain.producer.attending():
        while True:
            if produce(runtime):
                made += 1
            elif not made or not chain.producer.wait(LINGER):
                break
            if time.monotonic() > until:
                if development.mines_on_arrival(chain):
                    chain.producer.request()
                break
    return {"blocks": made}


@shared_task(name="cchain_app.tick")
def tick(chain: str | None = None) -> Done:
    """Run the periodic work of `beat` if no producer process is running."""
    return _on_each(
        chain,
        lambda one: beat(one) if one.chain.producer.is_unattended() else {"blocks": 0},
        takes_turns=True,
    )


def beat(runtime: EvmRuntime) -> Done:
    """Build the blocks that are due: the next one of an interval, and on arrival those whose request was lost.

    Unspecified: interval mode builds empty blocks too, like Anvil and geth's clique.
    """
    chain = runtime.chain
    development.refresh_mining_settings(chain)
    made = 0
    if development.mines_by_clock(chain):
        made = int(produce(runtime, by_clock=True))
    if development.mines_on_arrival(chain):
        made += build_blocks(runtime)["blocks"]
    return {"blocks": made}


@shared_task(name="cchain_app.expire_pool")
def expire_pool(chain: str | None = None) -> Done:
    """Drop transactions that have been queued for too long."""
    return _on_each(chain, lambda one: {"expired": removal.expire(one.chain, now=clock.wall())})


@shared_task(name="cchain_app.index_calls")
def index_calls(chain: str | None = None) -> Done:
    """Write the internal calls of some transactions as rows, if NODE_TRACE_INDEX says so."""

    def index(runtime: EvmRuntime) -> Done:
        chain, done = runtime.chain, {"blocks": 0}
        if calls.is_enabled(chain) and (seconds := chain.indexing.seconds("calls")):
            is_needed = chain.indexing.is_needed
            chain.call_index.run(
                lambda: done.update(
                    blocks=calls.index_calls(chain, seconds=seconds, is_needed=is_needed)
                )
            )
        return done

    return _on_each(chain, index, takes_turns=True)


@shared_task(name="cchain_app.prune_history")
def prune_history(chain: str | None = None) -> Done:
    """Delete some of the old states and calls, if NODE_HISTORY_STATE and NODE_HISTORY_CALLS say so."""
    return _on_each(
        chain,
        lambda one: pruning.prune(one.chain, seconds=PRUNING[one.chain.node.profile])._asdict(),
    )


def _in_turn() -> tuple[EvmRuntime, ...]:
    """Return the chains of the Primary Network and those whose blocks are due by the clock, and a fifth of the others."""
    turn = int(time.monotonic()) % TURNS
    return tuple(
        runtime
        for place, runtime in enumerate(evm_runtimes())
        if runtime.chain.subnet_id == PRIMARY_NETWORK_ID
        or place % TURNS == turn
        or development.mines_by_clock(runtime.chain)
    )


def _on_each(
    name: str | None, work: Callable[[EvmRuntime], Done], *, takes_turns: bool = False
) -> Done:
    """Do work on the chain with a name, or on each EVM chain; return the sums of the numbers.

    A chain whose work fails does not keep the others from theirs; the first error is raised at the end. An error of
    looking for new chains is logged, and the known ones do their work.

    Args:
        name: The chain's name; None: each chain.
        work: Does the work on a chain and returns its numbers.
        takes_turns: Whether one call works on a fifth of the subnets' chains, each second on others, because there may
            be many, and their producers request most work themselves.

    Raises:
        UnknownChain: No chain has the name, not even one that was created just now.
    """
    if name is None or find_evm_runtime(name) is None:
        try:
            find_chains()
        except Exception:
            _log.exception("cannot look for new chains; continuing with the known chains")
    if name is None:
        runtimes = _in_turn() if takes_turns else evm_runtimes()
    elif (named := find_evm_runtime(name)) is not None:
        runtimes = (named,)
    else:
        raise UnknownChain(name)
    done: Counter[str] = Counter()
    failures: list[Exception] = []
    for runtime in runtimes:
        try:
            done.update(work(runtime))
        except Exception as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return dict(done)
