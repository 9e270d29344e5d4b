"""Blocks made by hand, and when blocks are made, on a chain to develop against (devnet.md 2)."""

from dataclasses import replace
from time import monotonic
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.development.conditions import Conditions
from cchain_app.development.errors import HasPeers, TimeBeforeHead, TimeTooLate
from cchain_app.selectors import blocks, development
from cchain_app.services.by_hand import change_conditions
from chaindb import clock
from chaindb.locks import BUSY_SECONDS
from chainvm.port import HeadMoved

AT_ONCE: Final = 50
"""Blocks that are accepted in one transaction. Between two such transactions other writers have their turn."""

MOST_BLOCKS: Final = 100_000
"""Blocks of one call, which takes minutes then."""


def interval_is_over(chain: EvmChain) -> bool:
    """Say whether it is time for a block that is made by the clock.

    NODE_BLOCK_INTERVAL is how often somebody asks. What was set by hand is compared with the seconds since this
    process accepted the last block: blocks' own times may have been set by hand too. Who asks does so once a second,
    so half of that is no delay.
    """
    seconds = development.conditions(chain).block_interval
    return seconds is None or monotonic() - chain.last_accepted_at >= seconds - 0.5


def mine(chain: EvmChain, count: int, *, interval: int = 0, time: int | None = None) -> list[int]:
    """Make blocks, empty ones too, with what the pool has; return their heights.

    Args:
        chain: Which chain.
        count: How many.
        interval: Seconds before each, the first included.
        time: Of the first, in Unix seconds; the clock goes on from there.

    Raises:
        HasPeers: Other nodes follow the chain.
        TimeBeforeHead: `time` is below the head's.
        WaitedTooLong: Another thread has worked on the chain for `BUSY_SECONDS`; the blocks before stay.
    """
    if chain.has_peers():
        raise HasPeers
    made: list[int] = []
    while len(made) < count:
        with chain.consensus.lock.held(BUSY_SECONDS):
            if time is not None and not made:
                set_next_timestamp(chain, time)
            blocks_of_part = _mine_part(chain, min(AT_ONCE, count - len(made)), interval)
        if not blocks_of_part:
            break
        made += blocks_of_part
    return made


def _mine_part(chain: EvmChain, count: int, interval: int) -> list[int]:
    """Make blocks in one transaction; return their heights."""
    while True:
        development.see_conditions(chain)
        try:
            branch = chain.consensus.produce_line(_times(chain, count, interval))
        except HeadMoved:
            continue  # another process has made a block, or changed the state, meanwhile
        if branch and interval:
            with chain.db.atomic(durable=True):
                head = blocks.head(chain).header.timestamp
                clock.show(head, least=chain.least_time())
        return [block.height for block in branch]


def _times(chain: EvmChain, count: int, interval: int) -> list[int]:
    """Return the node's time for each of some blocks to come, in Unix seconds."""
    first = max(clock.cchain_now(), blocks.head(chain).header.timestamp if interval else 0)
    return [first + interval * place for place in range(1, count + 1)]


def set_next_timestamp(chain: EvmChain, time: int) -> None:
    """Let the next block have exactly this time (Unix seconds), however it is made.

    Raises:
        HasPeers: Other nodes follow the chain.
        TimeBeforeHead: It is below the head's.
    """

    def change(found: Conditions, head: AcceptedBlock) -> Conditions:
        if time < head.header.timestamp:
            raise TimeBeforeHead(time, head.header.timestamp)
        return replace(found, next_timestamp=time)

    change_conditions(chain, change)


def set_automine(chain: EvmChain, *, on: bool) -> None:
    """Make blocks on a transaction's arrival, or only by hand; what waits is mined when that begins.

    Unspecified: what lets blocks be made (this, or an interval) ends a pause, since what was asked for last holds;
    what ends their making leaves it, and is what `resume` goes back to.

    Raises:
        HasPeers: Other nodes follow the chain.
    """

    def change(found: Conditions, _: AcceptedBlock) -> Conditions:
        return replace(found, mining="auto" if on else "manual", paused=found.paused and not on)

    change_conditions(chain, change)
    if on:
        chain.producer.request()


def pause(chain: EvmChain) -> None:
    """Make no more blocks by itself, neither on a transaction's arrival nor by the clock, until `resume`.

    It is stored, so it holds for all processes and over restarts. Blocks by hand (evm_mine) go on. What was set
    for their making stays as it is, beside this. A reset of the chain ends it, with all else that was set.

    Raises:
        HasPeers: Other nodes follow the chain.
    """
    change_conditions(chain, lambda found, _: replace(found, paused=True))


def resume(chain: EvmChain) -> None:
    """Make blocks again as before the pause, or as was set over RPC meanwhile.

    Raises:
        HasPeers: Other nodes follow the chain.
    """
    found = change_conditions(chain, lambda found, _: replace(found, paused=False))
    if (found.mining or chain.node.mining) == "auto":
        chain.producer.request()


def set_interval(chain: EvmChain, seconds: float) -> None:
    """Make a block each so many seconds, and none on a transaction's arrival; 0: no more by the clock.

    Unspecified: an interval ends a pause, 0 leaves it (`set_automine`).

    Raises:
        HasPeers: Other nodes follow the chain.
    """

    def change(found: Conditions, _: AcceptedBlock) -> Conditions:
        if seconds:
            return replace(found, mining="interval", block_interval=seconds, paused=False)
        # As in Anvil: the end of the interval does not bring automine back.
        by_clock = (found.mining or chain.node.mining) == "interval"
        return replace(found, mining="manual" if by_clock else found.mining, block_interval=None)

    change_conditions(chain, change)


def increase_time(chain: EvmChain, seconds: int) -> int:
    """Move the clock of both chains forward; return by how many seconds the C-Chain's is ahead of wall time then.

    Raises:
        HasPeers: Other nodes follow the chain.
        TimeTooLate: It would show a time after the year 9998.
    """
    if chain.has_peers():
        raise HasPeers
    try:
        with chain.db.atomic(durable=True):
            clock.move(seconds)
            return clock.cchain_offset()
    except clock.ClockTooLate as error:
        raise TimeTooLate(str(error)) from error


def set_time(chain: EvmChain, time: int) -> int:
    """Set the clock of both chains, back too; return by how many seconds it went forward, 0 if back.

    The P-Chain's time does not go below its last block, and no block is older than the one before it.

    Raises:
        HasPeers: Other nodes follow the chain.
    """
    if chain.has_peers():
        raise HasPeers
    with chain.db.atomic(durable=True):
        before = clock.cchain_now()
        clock.show(time, least=chain.least_time())
        return max(0, clock.cchain_now() - before)
