"""A rule of turns by which this node's turn ends while a block is made."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from chaindb import turns
from chaindb.chains import Chain
from chaindb.offers import Offer


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
def ending_turn(chain: object, most: int) -> Iterator[EndingTurn]:
    """Install the rule, and let a chain's blocks have at most so many transactions, about."""
    made = EndingTurn()
    turns.install(made)
    try:
        with patch.object(chain, "offer", Offer(most)):
            yield made
    finally:
        turns.install(None)
