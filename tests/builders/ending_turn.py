"""Rules of turns for a chain that a test's node decides on alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from chaindb.building import building
from chaindb.chains import Chain
from chainvm.consensus import SoleConsensus

Rule = Callable[[Chain, int, int | None], bool]
"""Takes chain, height and time, or None for whether the turn still lasts; see `chainvm.consensus.Turns`."""


class RuledTurns:
    """Turns by a rule; how much is offered to a block follows from those that were late.

    Args:
        chain: An EVM chain or a P-Chain.
        rule: Says whether it is this node's turn.
    """

    def __init__(self, chain: Any, rule: Rule) -> None:
        self.chain = chain
        self.rule = rule

    def may_produce(self, height: int, now: int | None) -> bool:
        return self.rule(Chain(self.chain.aliases[0]), height, now)

    def was_late(self, reason: Exception) -> None:
        self.chain.offer.was_late(reason)

    def was_accepted(self) -> None:
        self.chain.offer.was_taken()


def never(*_: object) -> bool:
    """Say that it is never this node's turn."""
    return False


def deciding(chain: Any, rule: Rule) -> SoleConsensus[Any]:
    """Return who decides alone on a chain's blocks, by a rule of turns."""
    counted = partial(building, Chain(chain.aliases[0]))
    return SoleConsensus(chain.vm, counted, RuledTurns(chain, rule))


class EndingTurn:
    """Let blocks be begun, and the next ones not be accepted."""

    def __init__(self) -> None:
        self.ends = 0
        """So many of the next blocks come too late."""
        self.held: list[tuple[Chain, int]] = []
        """Chain and height of each block that was made."""

    def __call__(self, chain: Chain, height: int, now: int | None) -> bool:
        if now is not None:
            return True
        self.held.append((chain, height))
        self.ends -= 1
        return self.ends < 0


@contextmanager
def ending_turn(chain: Any, most: int) -> Iterator[EndingTurn]:
    """Install the rule, and let a chain's blocks have at most so many transactions, about."""
    made = EndingTurn()
    with (
        patch.object(chain, "consensus", deciding(chain, made)),
        patch.object(chain.offer, "_most", most),
    ):
        yield made
