"""The rule that coins neither appear nor disappear on their way between the chains (atomic.md 13). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

COIN: Final = 10**18
"""Wei of a coin."""


class Uncounted(StrEnum):
    """Why the coins of a node cannot be counted now."""

    CHAIN_MISSING = "this node does not execute the {chain}"
    NO_GENESIS = "the database has no genesis"
    EARLY_IMPORTS = (
        "the chains are not executed up to the same point: an import waits for its export"
    )


class Verdict(NamedTuple):
    """The result of a count."""

    fault: str
    """The fault; empty if the coins are conserved."""
    note: str = ""
    """A limitation of the numbers."""


@dataclass(frozen=True, slots=True)
class CoinCount:
    """All coins of a node's chains at one moment, in wei."""

    sources: Mapping[str, int]
    """Coins that were created, by origin."""
    places: Mapping[str, int]
    """Coins that exist or were burned, by place."""
    may_destroy: bool = False
    """Whether contracts of the C-Chain may have destroyed coins, which nothing records."""

    @property
    def difference(self) -> int:
        """The surplus of coins in wei; negative: coins are missing."""
        return sum(self.places.values()) - sum(self.sources.values())

    def verdict(self) -> Verdict:
        """Judge the count: as many coins must exist as were created."""
        difference = self.difference
        amount = coins_text(abs(difference))
        if difference > 0:
            return Verdict(f"{amount} more than came into being")
        if difference and not self.may_destroy:
            return Verdict(f"{amount} less than came into being")
        if difference:
            return Verdict("", f"{amount} destroyed by contracts of the C-Chain (SELFDESTRUCT)")
        return Verdict("")


def coins_text(wei: int) -> str:
    """Return an exact number of coins."""
    whole, rest = divmod(abs(wei), COIN)
    digits = f"{rest:018d}".rstrip("0")
    sign = "-" if wei < 0 else ""
    plural = "" if (whole, rest) == (1, 0) else "s"
    return f"{sign}{whole:,}{'.' if digits else ''}{digits} coin{plural}"
