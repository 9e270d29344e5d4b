"""Moving the node's clock forward: whatever happens to stakers on the way happens in its own block.

The clock is both chains' (design: staking time travel). Only a local network's may be moved.
"""

import time
from collections.abc import Callable

from chaindb import clock
from chaindb.locks import Lock
from platform_app.blocks.block import Block, StandardBlock
from platform_app.chain import PlatformChain
from platform_app.executor.clock import next_staker_change
from platform_app.services.errors import DecidedByVotes, MadeElsewhere, NotLocal
from platform_app.store.state import DatabaseState
from primitives.networks import MAINNET, TESTNET

PAUSE = 0.0005
"""Seconds between blocks. Who waits for SQLite's lock looks for it now and then only, and a loop that
takes it again at once would let nobody else write."""

Progress = Callable[[int], object]
"""Told of chain time, in Unix seconds, after each block."""


def time_travel(chain: PlatformChain, seconds: int, progress: Progress = lambda _time: None) -> int:
    """Move the clock, build every block that became due, and return how many steps that were.

    The clock is moved first and for good: if the process ends on the way, the node's own builder makes
    the blocks that are missing. Each stands at the time of its change, not at the end of the journey.
    A proposal and its option are one step. Whatever waits in the mempool goes into blocks, too, but
    is not waited for: others may issue without end.

    Unspecified: mainnet and testnet are refused; every other network is taken for somebody's own.

    Raises:
        NotLocal: The network is one of the public ones.
        DecidedByVotes: The validators vote, whose clocks have to agree.
        MadeElsewhere: Another node makes the blocks, or this one bootstraps.
        ClockMovesForward: `seconds` is negative.
        ClockTooLate: The node's clock never shows a time after the year 9998.
    """
    node = chain.node
    if node.network_id in {MAINNET, TESTNET}:
        raise NotLocal(node.network_id)
    if node.votes:
        raise DecidedByVotes
    if not chain.consensus.may_produce(chain.tip().height + 1, clock.now()):
        raise MadeElsewhere
    with chain.answers.changing(), chain.db.atomic(durable=True):
        chain.db.acquire(Lock.PCHAIN)
        clock.move(seconds)
    arrival = clock.now()
    built = 0
    while (block := chain.consensus.produce(now=arrival)) is not None:
        assert block.time is not None, "only genesis blocks have no time"
        built += 1
        progress(block.time)
        if block.time >= arrival and _is_last(chain, block, arrival):
            break
        time.sleep(PAUSE)
    return built


def _is_last(chain: PlatformChain, block: Block, arrival: int) -> bool:
    """Say whether all that is left after a block at the arrival is what others issue meanwhile.

    After a reward it is not: this node's own validator comes back at once.
    """
    change = next_staker_change(DatabaseState(chain.db))
    return isinstance(block, StandardBlock) and (change is None or change > arrival)
