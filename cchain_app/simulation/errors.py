"""Errors that reject a simulation as a whole. The messages are geth's; the codes are in `api.errors`.

    SimulationRefused
    ├── NoBlocks                  there are no blocks to simulate
    ├── TooManyBlocks             more blocks than the limit, with those that fill gaps
    ├── TooManyCalls              in one block, or in all blocks together
    ├── BlockNumberNotAscending   a block is not above the one before it
    ├── TimestampNotAscending     a block is not later than the one before it
    ├── TimestampTooHigh          a block's time does not fit in a header
    ├── PriceTooHigh              engines cannot read the base fee
    ├── BlockGasLimitReached      a call requests more gas than the block has left
    └── CallNotApplied            a call could not begin, for another reason than the following
        ├── NonceTooLow
        ├── NonceTooHigh
        ├── TipAboveFee
        ├── FeeBelowBaseFee
        ├── NotEnoughFunds
        ├── NotEnoughGas          less than the call's intrinsic gas
        └── InitCodeTooLarge

A call that fails during its execution raises no error: the failure is its result.
"""

from typing import Final


class SimulationRefused(Exception):
    """A simulation that was not executed, or not to its end."""


class NoBlocks(SimulationRefused):
    """There are no blocks to simulate."""

    def __init__(self) -> None:
        super().__init__("empty input")


class TooManyBlocks(SimulationRefused):
    """More blocks than the limit, counting those that fill gaps."""

    def __init__(self) -> None:
        super().__init__("too many blocks")


class TooManyCalls(SimulationRefused):
    """More calls than a block, or all blocks together, may have."""

    def __init__(self, where: str, have: int, most: int) -> None:
        super().__init__(f"too many calls{where}: {have} > {most}")


class BlockNumberNotAscending(SimulationRefused):
    """A block is not above the one before it."""

    def __init__(self, number: int, before: int) -> None:
        super().__init__(f"block numbers must be in order: {number} <= {before}")


class TimestampNotAscending(SimulationRefused):
    """A block is not later than the one before it."""

    def __init__(self, timestamp: int, before: int) -> None:
        super().__init__(f"block timestamps must be in order: {timestamp} <= {before}")


class TimestampTooHigh(SimulationRefused):
    """A block's time does not fit in a header."""

    def __init__(self) -> None:
        super().__init__("block timestamp higher than 2^64-1")


class PriceTooHigh(SimulationRefused):
    """A base fee, or blob base fee, with more bits than engines can read."""

    def __init__(self, price: str, bits: int) -> None:
        super().__init__(f"{price} higher than 2^{bits}-1")


class BlockGasLimitReached(SimulationRefused):
    """A call requests more gas than the earlier calls have left of the block's limit."""

    def __init__(self, remaining: int, required: int) -> None:
        super().__init__(f"block gas limit reached: remaining: {remaining}, required: {required}")


class CallNotApplied(SimulationRefused):
    """A call could not begin."""

    def __init__(self, words: str, gas: int) -> None:
        super().__init__(f"err: {words} (supplied gas {gas})")


class SimulatedNonceTooLow(CallNotApplied):
    """The sender has used the nonce."""


class NonceTooHigh(CallNotApplied):
    """The nonce is higher than the sender's next one."""


class TipAboveFee(CallNotApplied):
    """The priority fee is higher than the fee cap."""


class FeeBelowBaseFee(CallNotApplied):
    """The fee cap is lower than the base fee."""


class NotEnoughFunds(CallNotApplied):
    """The sender cannot pay for gas and value."""


class NotEnoughGas(CallNotApplied):
    """The gas limit is lower than the call's intrinsic gas."""


class SimulatedInitCodeTooLarge(CallNotApplied):
    """The init code is longer than EIP-3860 allows."""


_BY_WORDS: Final[tuple[tuple[str, type[CallNotApplied]], ...]] = (
    ("nonce too low", SimulatedNonceTooLow),
    ("nonce too high", NonceTooHigh),
    ("max priority fee per gas higher than max fee per gas", TipAboveFee),
    ("max fee per gas less than block base fee", FeeBelowBaseFee),
    ("insufficient funds", NotEnoughFunds),
    ("intrinsic gas too low", NotEnoughGas),
    ("insufficient gas for floor data gas cost", NotEnoughGas),
    ("max initcode size exceeded", SimulatedInitCodeTooLarge),
)


def not_applied(words: str, gas: int) -> CallNotApplied:
    """Return the error of a call that could not begin, selected by geth's message.

    Args:
        words: The message, from an engine or `evm.failures`.
        gas: The gas limit of the call.
    """
    for start, kind in _BY_WORDS:
        if words.startswith(start):
            return kind(words, gas)
    return CallNotApplied(words, gas)
