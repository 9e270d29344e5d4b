"""Moving the node's clock forward, with a separate block for every staker change on the way.

Both chains share the clock (design: staking time travel). Only a local network's clock may be moved.
"""

import time
from collections.abc import Callable

from chaindb import clock
from chaindb.locks import Lock
from platform_app.chain import PlatformChain
from platform_app.executor.clock import next_staker_change
from platform_app.selectors import accepted
from platform_app.services.errors import (
    ClockNotMovable,
    TimeTravelReason,
)
from platform_app.services.runtime import PlatformRuntime
from platform_app.store.state import DatabaseState
from primitives.networks import MAINNET, TESTNET

PAUSE = 0.0005
"""Seconds between blocks. Writers that wait for SQLite's lock poll for it, so a loop that reacquires it
without a pause would starve them."""

Progress = Callable[[int], object]
"""Called with chain time, in Unix seconds, after each block."""


def time_travel(
    runtime: PlatformRuntime, seconds: int, progress: Progress = lambda _time: None
) -> int:
    """Move the clock, build every block that became due, and return the number of steps.

    The clock is moved first and permanently: if the process ends before it is done, the node's own builder
    builds the missing blocks. Each block has the time of its staker change, not the final time.
    A proposal and its option are one step. Pending transactions go into blocks, too, but the function does
    not wait for an empty mempool, because other clients may issue transactions indefinitely.

    Unspecified: mainnet and testnet are rejected; every other network is assumed to be private.

    Raises:
        ClockNotMovable: The network is one of the public ones; the validators vote, and their
            clocks have to agree; another node produces the blocks, or this one is bootstrapping.
        ClockMovesForward: `seconds` is negative.
        ClockTooLate: The node's clock never shows a time after the year 9998.
    """
    chain = runtime.chain
    node = chain.node
    if node.network_id in {MAINNET, TESTNET}:
        raise ClockNotMovable(TimeTravelReason.PUBLIC_NETWORK, network_id=node.network_id)
    if node.votes:
        raise ClockNotMovable(TimeTravelReason.DECIDED_BY_VOTES)
    if not runtime.consensus.may_produce(chain.tip().height + 1, clock.now()):
        raise ClockNotMovable(TimeTravelReason.PRODUCED_ELSEWHERE)
    with chain.answers.changing(), chain.db.atomic(durable=True):
        chain.db.acquire(Lock.PCHAIN)
        clock.move(seconds)
    arrival = clock.now()
    built = 0
    while (made := runtime.consensus.produce(now=arrival)) is not None:
        chain_time = chain.tip().timestamp
        built += 1
        progress(chain_time)
        if chain_time >= arrival and _is_last(chain, made.height, arrival):
            break
        time.sleep(PAUSE)
    return built


def _is_last(chain: PlatformChain, height: int, arrival: int) -> bool:
    """Return whether only transactions issued meanwhile remain after a block at the arrival time.

    Not after a reward, because this node's own validator is renewed immediately.
    """
    (block,) = accepted.raw_blocks(chain, height, height, max_bytes=1)
    change = next_staker_change(DatabaseState(chain.db), chain.config, limit=arrival + 1)
    return not block.is_option and change > arrival
