"""The blocks of a simulation: their numbers and times, the filled gaps, and the limits on their count.

All checks that need no execution (tracing.md 14), and the reasons to reject a simulation as a whole. The messages are
geth's; the codes are in `api.errors`. A call that fails during its execution raises no error: the failure is its result.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from cchain_app.blocks.accepted import AcceptedBlock, Withdrawal
from cchain_app.evm.overrides import AccountOverride, BlockOverride
from cchain_app.txs.request import CallRequest
from primitives.evm import Address, Hash
from primitives.reasons import ErrorWithReason


class SimulationReason(StrEnum):
    """Why a simulation was not executed, or not to its end."""

    NO_BLOCKS = "empty input"
    # counting those that fill gaps
    TOO_MANY_BLOCKS = "too many blocks"
    # in a block, or in all blocks together
    TOO_MANY_CALLS = "too many calls{where}: {have} > {limit}"
    NUMBER_NOT_ASCENDING = "block numbers must be in order: {number} <= {before}"
    TIMESTAMP_NOT_ASCENDING = "block timestamps must be in order: {timestamp} <= {before}"
    # it does not fit in a header
    TIMESTAMP_TOO_HIGH = "block timestamp higher than 2^64-1"
    # a base fee, or blob base fee, with more bits than engines can read
    PRICE_TOO_HIGH = "{price} higher than 2^{bits}-1"
    BLOCK_GAS_LIMIT = "block gas limit reached: remaining: {remaining}, required: {required}"
    # The others: a call could not begin.
    NONCE_TOO_LOW = "err: nonce too low{rest} (supplied gas {gas})"
    NONCE_TOO_HIGH = "err: nonce too high{rest} (supplied gas {gas})"
    TIP_ABOVE_FEE = (
        "err: max priority fee per gas higher than max fee per gas{rest} (supplied gas {gas})"
    )
    FEE_BELOW_BASE_FEE = "err: max fee per gas less than block base fee{rest} (supplied gas {gas})"
    NOT_ENOUGH_FUNDS = "err: insufficient funds{rest} (supplied gas {gas})"
    INTRINSIC_GAS_TOO_LOW = "err: intrinsic gas too low{rest} (supplied gas {gas})"
    FLOOR_GAS_TOO_LOW = "err: insufficient gas for floor data gas cost{rest} (supplied gas {gas})"
    INIT_CODE_TOO_LARGE = "err: max initcode size exceeded{rest} (supplied gas {gas})"
    CALL_NOT_APPLIED = "err: {rest} (supplied gas {gas})"


class SimulationRefused(ErrorWithReason):
    """A simulation that was not executed, or not to its end."""


_BY_WORDS: Final[dict[str, SimulationReason]] = {
    reason.removeprefix("err: ").partition("{rest}")[0]: reason
    for reason in SimulationReason
    if reason.startswith("err: ")
}
"""The reasons of calls that could not begin by the first words of geth's message; the last one by no words."""


def not_applied(words: str, gas: int) -> SimulationRefused:
    """Return the error of a call that could not begin, selected by geth's message.

    Args:
        words: The message, from an engine or `evm.failures`.
        gas: The gas limit of the call.
    """
    start, reason = next(row for row in _BY_WORDS.items() if words.startswith(row[0]))
    return SimulationRefused(reason, rest=words.removeprefix(start), gas=gas)


MAX_SIMULATE_BLOCKS: Final = 256
"""Maximum number of blocks after the accepted block, counting those that fill gaps."""

MAX_CALLS_OF_BLOCK: Final = 5_000
MAX_CALLS: Final = 10_000
"""Maximum number of calls of all blocks together."""

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
