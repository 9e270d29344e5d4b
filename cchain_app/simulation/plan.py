"""The blocks of a simulation: their numbers and times, the filled gaps, and the limits on their count.

All checks that need no execution (tracing.md 14).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.body import Withdrawal
from cchain_app.evm.overrides import AccountOverride, BlockOverride
from cchain_app.simulation.errors import SimulationReason, SimulationRefused
from cchain_app.txs.request import CallRequest
from primitives.evm import Address, Hash

MAX_SIMULATE_BLOCKS: Final = 256
"""Most blocks after the accepted block, counting those that fill gaps."""

MAX_CALLS_OF_BLOCK: Final = 5_000
MAX_CALLS: Final = 10_000
"""Most calls of all blocks together."""

BLOCK_SECONDS: Final = 12
"""Seconds after the previous block for a block that names no time."""


@dataclass(frozen=True, slots=True)
class BlockRequest:
    """A block of the request."""

    calls: Sequence[CallRequest] = ()
    override: BlockOverride = field(default_factory=BlockOverride)
    beacon_root: Hash | None = None
    withdrawals: Sequence[Withdrawal] = ()
    accounts: Mapping[Address, AccountOverride] = field(default_factory=dict)


class PlannedBlock(NamedTuple):
    """A block with its number and time."""

    number: int
    timestamp: int
    """Unix seconds."""
    request: BlockRequest


def plan(base: AcceptedBlock, requests: Sequence[BlockRequest]) -> list[PlannedBlock]:
    """Return all blocks in order, with consecutive numbers; the first one follows `base`.

    Raises:
        SimulationRefused: A rule is violated.
    """
    _check_sizes(requests)
    planned: list[PlannedBlock] = []
    number, timestamp = base.number, base.header.timestamp
    for request in requests:
        wanted = request.override.number
        wanted = number + 1 if wanted is None else wanted
        if wanted <= number:
            raise SimulationRefused(
                SimulationReason.NUMBER_NOT_ASCENDING, number=wanted, before=number
            )
        if wanted - base.number > MAX_SIMULATE_BLOCKS:
            raise SimulationRefused(SimulationReason.TOO_MANY_BLOCKS)
        for missing in range(number + 1, wanted):
            timestamp = _time_after(timestamp)
            planned.append(PlannedBlock(missing, timestamp, BlockRequest()))
        timestamp = _time_after(timestamp, request.override.time)
        number = wanted
        planned.append(PlannedBlock(number, timestamp, request))
    return planned


def _check_sizes(requests: Sequence[BlockRequest]) -> None:
    if not requests:
        raise SimulationRefused(SimulationReason.NO_BLOCKS)
    if len(requests) > MAX_SIMULATE_BLOCKS:
        raise SimulationRefused(SimulationReason.TOO_MANY_BLOCKS)
    for request in requests:
        if len(request.calls) > MAX_CALLS_OF_BLOCK:
            raise SimulationRefused(
                SimulationReason.TOO_MANY_CALLS,
                where=" in block",
                have=len(request.calls),
                limit=MAX_CALLS_OF_BLOCK,
            )
    together = sum(len(request.calls) for request in requests)
    if together > MAX_CALLS:
        raise SimulationRefused(
            SimulationReason.TOO_MANY_CALLS, where="", have=together, limit=MAX_CALLS
        )


def _time_after(before: int, wanted: int | None = None) -> int:
    if wanted is None:
        wanted = before + BLOCK_SECONDS
    elif wanted <= before:
        raise SimulationRefused(
            SimulationReason.TIMESTAMP_NOT_ASCENDING, timestamp=wanted, before=before
        )
    if wanted >> 64:
        raise SimulationRefused(SimulationReason.TIMESTAMP_TOO_HIGH)
    return wanted
