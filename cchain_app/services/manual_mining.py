"""Manual block production and the mining mode on a development chain (devnet.md 2)."""

from dataclasses import replace
from time import monotonic
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.development.errors import (
    DevelopmentError,
    DevelopmentReason,
    InvalidDevelopmentRequest,
)
from cchain_app.development.overrides import NextBlockOverrides
from cchain_app.selectors import blocks, development
from cchain_app.services.cheats import change_conditions
from cchain_app.services.runtime import EvmRuntime
from chaindb import clock
from chaindb.locks import BUSY_SECONDS
from chainvm.port import HeadMoved

AT_ONCE: Final = 50
"""Blocks that are accepted in one transaction. Other writers can run between two such transactions."""

MAX_BLOCKS: Final = 100_000
"""Limit of the blocks of one call, which then takes minutes."""


def interval_is_over(chain: EvmChain) -> bool:
    """Return whether it is time for the next block in interval mode.

    Without an interval set over RPC it always is, because the caller already asks every NODE_BLOCK_INTERVAL seconds.
    An interval that was set is compared with the seconds since this process accepted the last block, because the
    blocks' own times may have been set manually too. Callers then ask once a second, and half a second of tolerance
    avoids a delay.
    """
    seconds = development.conditions(chain).block_interval
    return seconds is None or monotonic() - chain.last_accepted_at >= seconds - 0.5


def mine(
    runtime: EvmRuntime, count: int, *, interval: int = 0, time: int | None = None
) -> list[int]:
    """Make blocks, including empty ones, from the pool's transactions; return their heights.

    Args:
        runtime: The chain.
        count: Number of blocks.
        interval: Seconds before each block, including the first.
        time: Time of the first block in Unix seconds; the clock continues from there.

    Raises:
        DevelopmentError: Other nodes follow the chain.
        InvalidDevelopmentRequest: `time` is below the head's.
        WaitedTooLong: Another thread has worked on the chain for `BUSY_SECONDS`; the blocks made so far stay.
    """
    chain = runtime.chain
    if chain.has_peers():
        raise DevelopmentError(DevelopmentReason.HAS_PEERS)
    made: list[int] = []
    while len(made) < count:
        with chain.vm_lock.held(BUSY_SECONDS):
            if time is not None and not made:
                set_next_timestamp(chain, time)
            blocks_of_part = _mine_part(runtime, min(AT_ONCE, count - len(made)), interval)
        if not blocks_of_part:
            break
        made += blocks_of_part
    return made


def _mine_part(runtime: EvmRuntime, count: int, interval: int) -> list[int]:
    """Make blocks in one transaction; return their heights."""
    chain = runtime.chain
    while True:
        try:
            branch = runtime.consensus.produce_batch(_times(chain, count, interval))
        except HeadMoved:
            continue  # another process has made a block meanwhile
        if branch and interval:
            with chain.db.atomic(durable=True):
                head = blocks.head(chain).header.timestamp
                clock.show(head, minimum=chain.least_time())
        return [block.height for block in branch]


def _times(chain: EvmChain, count: int, interval: int) -> list[int]:
    """Return the node's time for each of the next blocks, in Unix seconds."""
    first = max(clock.cchain_now(), blocks.head(chain).header.timestamp if interval else 0)
    return [first + interval * place for place in range(1, count + 1)]


def set_next_timestamp(chain: EvmChain, time: int) -> None:
    """Set the exact time of the next block (Unix seconds), however it is made.

    Raises:
        DevelopmentError: Other nodes follow the chain.
        InvalidDevelopmentRequest: The time is below the head's.
    """

    def change(overrides: NextBlockOverrides, head: AcceptedBlock) -> NextBlockOverrides:
        if time < head.header.timestamp:
            raise InvalidDevelopmentRequest(
                DevelopmentReason.TIME_BEFORE_HEAD, time=time, head=head.header.timestamp
            )
        return replace(overrides, next_timestamp=time)

    change_conditions(chain, change)


def set_automine(chain: EvmChain, *, on: bool) -> None:
    """Make blocks when transactions arrive, or only manually. Switching it on mines the pending transactions.

    Unspecified: the last request wins, so switching on automine or an interval ends a pause. Switching them off keeps
    the pause, and is the mode to which `resume` returns.

    Raises:
        DevelopmentError: Other nodes follow the chain.
    """

    def change(overrides: NextBlockOverrides, _: AcceptedBlock) -> NextBlockOverrides:
        return replace(
            overrides, mining="auto" if on else "manual", paused=overrides.paused and not on
        )

    change_conditions(chain, change)
    if on:
        chain.producer.request()


def pause(chain: EvmChain) -> None:
    """Stop making blocks automatically, for arriving transactions or by the clock, until `resume`.

    The pause is stored, so it survives restarts, and each process reads it before it builds a block
    (`development.refresh_mining_settings`). A block that another process is building may still be accepted. Manual
    mining still works. The overrides of the mining mode are kept separately. A reset of the chain ends the pause, with
    all other overrides.

    Raises:
        DevelopmentError: Other nodes follow the chain.
    """
    change_conditions(chain, lambda overrides, _: replace(overrides, paused=True))


def resume(chain: EvmChain) -> None:
    """Make blocks again as before the pause, or in the mode that was set over RPC meanwhile.

    Raises:
        DevelopmentError: Other nodes follow the chain.
    """
    change_conditions(chain, lambda overrides, _: replace(overrides, paused=False))
    if development.mines_on_arrival(chain):
        chain.producer.request()


def set_interval(chain: EvmChain, seconds: float) -> None:
    """Make a block every given number of seconds, and none when transactions arrive; 0: stop making blocks by the clock.

    Unspecified: an interval ends a pause, 0 keeps it (`set_automine`).

    Raises:
        DevelopmentError: Other nodes follow the chain.
    """

    def change(overrides: NextBlockOverrides, _: AcceptedBlock) -> NextBlockOverrides:
        if seconds:
            return replace(overrides, mining="interval", block_interval=seconds, paused=False)
        # As in Anvil: the end of interval mining does not restore automine.
        by_clock = (overrides.mining or chain.settings.mining) in {"interval", "mixed"}
        return replace(
            overrides, mining="manual" if by_clock else overrides.mining, block_interval=None
        )

    change_conditions(chain, change)


def increase_time(chain: EvmChain, seconds: int) -> int:
    """Move the clock of all chains forward; return the seconds by which the C-Chain's is then ahead of wall time.

    Raises:
        DevelopmentError: Other nodes follow the chain.
        InvalidDevelopmentRequest: The clock would show a time after the year 9998.
    """
    if chain.has_peers():
        raise DevelopmentError(DevelopmentReason.HAS_PEERS)
    try:
        with chain.db.atomic(durable=True):
            clock.move(seconds)
            return clock.cchain_offset()
    except clock.ClockTooLate as error:
        raise InvalidDevelopmentRequest(
            DevelopmentReason.TIME_TOO_LATE, problem=str(error)
        ) from error


def set_time(chain: EvmChain, time: int) -> int:
    """Set the clock of all chains, also backwards; return the seconds by which it moved forward, 0 if backwards.

    The P-Chain's time does not go below its last block, and no block is older than its parent.

    Raises:
        DevelopmentError: Other nodes follow the chain.
    """
    if chain.has_peers():
        raise DevelopmentError(DevelopmentReason.HAS_PEERS)
    with chain.db.atomic(durable=True):
        before = clock.cchain_now()
        clock.show(time, minimum=chain.least_time())
        return max(0, clock.cchain_now() - before)
