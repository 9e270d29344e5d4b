"""Errors that reject a simulation as a whole. The messages are geth's; the codes are in `api.errors`.

A call that fails during its execution raises no error: the failure is its result.
"""

from enum import StrEnum
from typing import Final

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
