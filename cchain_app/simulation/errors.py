"""Why a simulation is refused as a whole. The words are geth's; the codes stand in `api.errors`.

    SimulationRefused
    ├── NoBlocks                  nothing is to be simulated
    ├── TooManyBlocks             more than can be simulated at once, filled gaps included
    ├── TooManyCalls              of one block, or of all together
    ├── BlockNumberNotAscending   a block is not above the one before it
    ├── TimestampNotAscending     a block is not later than the one before it
    ├── TimestampTooHigh          a block would be later than a header can say
    ├── PriceTooHigh              a base fee that no engine can read
    ├── BlockGasLimitReached      a call wants more gas than the block has left
    └── CallNotApplied            a call could not begin, for another reason than the following
        ├── NonceTooLow
        ├── NonceTooHigh
        ├── TipAboveFee
        ├── FeeBelowBaseFee
        ├── NotEnoughFunds
        ├── NotEnoughGas          not even for what it costs before it begins
        └── InitCodeTooLarge

A call that fails while it runs is no reason: that is its result.
"""

from typing import Final


class SimulationRefused(Exception):
    """A simulation that was not run, or not to its end."""


class NoBlocks(SimulationRefused):
    """Nothing is to be simulated."""

    def __init__(self) -> None:
        super().__init__("empty input")


class TooManyBlocks(SimulationRefused):
    """More blocks than can be simulated at once, with those that fill gaps."""

    def __init__(self) -> None:
        super().__init__("too many blocks")


class TooManyCalls(SimulationRefused):
    """More calls than a block can have, or all blocks together."""

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
    """A block would be later than a header can say."""

    def __init__(self) -> None:
        super().__init__("block timestamp higher than 2^64-1")


class PriceTooHigh(SimulationRefused):
    """A base fee, or one for blobs, of more bits than engines take."""

    def __init__(self, price: str, bits: int) -> None:
        super().__init__(f"{price} higher than 2^{bits}-1")


class BlockGasLimitReached(SimulationRefused):
    """A call wants more gas than the calls before it have left of the block's."""

    def __init__(self, remaining: int, required: int) -> None:
        super().__init__(f"block gas limit reached: remaining: {remaining}, required: {required}")


class CallNotApplied(SimulationRefused):
    """A call could not begin."""

    def __init__(self, words: str, gas: int) -> None:
        super().__init__(f"err: {words} (supplied gas {gas})")


class NonceTooLow(CallNotApplied):
    """The sender has used the nonce."""


class NonceTooHigh(CallNotApplied):
    """The sender has not come to the nonce yet."""


class TipAboveFee(CallNotApplied):
    """The priority fee is higher than the fee it is part of."""


class FeeBelowBaseFee(CallNotApplied):
    """The fee does not pay the base fee."""


class NotEnoughFunds(CallNotApplied):
    """The sender cannot pay for gas and value."""


class NotEnoughGas(CallNotApplied):
    """The gas does not pay for what the call costs before it begins."""


class InitCodeTooLarge(CallNotApplied):
    """The init code is longer than EIP-3860 allows."""


_BY_WORDS: Final[tuple[tuple[str, type[CallNotApplied]], ...]] = (
    ("nonce too low", NonceTooLow),
    ("nonce too high", NonceTooHigh),
    ("max priority fee per gas higher than max fee per gas", TipAboveFee),
    ("max fee per gas less than block base fee", FeeBelowBaseFee),
    ("insufficient funds", NotEnoughFunds),
    ("intrinsic gas too low", NotEnoughGas),
    ("insufficient gas for floor data gas cost", NotEnoughGas),
    ("max initcode size exceeded", InitCodeTooLarge),
)


def not_applied(words: str, gas: int) -> CallNotApplied:
    """Return the refusal of a call, from geth's words for why it could not begin.

    Args:
        words: Of an engine, or of `evm.failures`.
        gas: That the call was given.
    """
    for start, kind in _BY_WORDS:
        if words.startswith(start):
            return kind(words, gas)
    return CallNotApplied(words, gas)
