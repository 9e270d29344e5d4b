"""How a new block is filled up: by the gas that its transactions use, which is known only when they have been executed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from cchain_app.evm.engine import ExecutedBlock

MORE_PASSES: Final = 3
"""How often a block is executed once more, at most, with further transactions at its end."""
LEAST_SHARE: Final = 8
"""A pass that adds less than one of so many transactions is the last one."""

Execute = Callable[[Sequence[int]], ExecutedBlock]
"""Executes transactions, given by their indexes, on the state before the block."""
LeftOut = Callable[[Mapping[int, int]], frozenset[int]]
"""Returns the indexes of transactions that do not fit, given the gas that others use in the block."""


class FilledBlock(NamedTuple):
    """An executed block."""

    executed: ExecutedBlock
    offered: Sequence[int]
    """The indexes of the transactions that were executed, in this order."""
    left_out: frozenset[int]
    """The indexes of those that did not fit."""


def fill_up(
    filled: FilledBlock, execute: Execute, left_out: LeftOut, candidates: Sequence[int]
) -> FilledBlock:
    """Add transactions that fit into the gas that a block's other transactions did not use of their limits.

    Unspecified: the reference adds each transaction to what those before it have used. Here it is bounded how often a
    block is executed, so room may be left: at most `MORE_PASSES` times more, and not again after a pass that added less
    than an eighth of the block's transactions, because each pass executes all of them. Further transactions come at
    the end, so that those before them use the same gas again.

    Args:
        filled: The block with those that fit by their gas limits.
        execute: Executes transactions.
        left_out: Returns those that do not fit.
        candidates: The indexes of all that may be in the block, in their order.
    """
    for _ in range(MORE_PASSES):
        executed, offered, out = filled
        used = {
            offered[position]: result.gas_used
            for position, result in zip(executed.included, executed.results, strict=True)
        }
        still = left_out(used)
        if not out - still:
            break
        more = [index for index in candidates if index not in used and index not in still]
        indexes = [*used, *more]
        filled = FilledBlock(execute(indexes), indexes, still)
        count = len(filled.executed.included)
        if (count - len(used)) * LEAST_SHARE < count:
            break
    return filled
