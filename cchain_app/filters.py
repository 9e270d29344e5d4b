"""Does this log match? One answer for eth_getLogs, polled filters and subscriptions.

How a filter is read from JSON, and how large it may be, is said in `api`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cchain_app.blocks.bloom import may_contain
from primitives.evm import Address, Word


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which logs somebody wants. Without addresses and topics: all of them."""

    addresses: frozenset[Address] = frozenset()
    """Any of these; empty is any address."""
    topics: tuple[frozenset[Word], ...] = ()
    """For each position any of these; empty is any topic, but there must be one."""

    def matches(self, address: Address, topics: Sequence[Word]) -> bool:
        """Say whether a log of this address with these topics is wanted.

        Unspecified: as in go-ethereum a filter with more positions than the log has topics never
        matches, even where the positions beyond are empty.
        """
        if self.addresses and address not in self.addresses:
            return False
        if len(self.topics) > len(topics):
            return False
        # topics beyond the filter's positions are free
        for wanted, topic in zip(self.topics, topics, strict=False):
            if wanted and topic not in wanted:
                return False
        return True

    def may_match(self, bloom: int) -> bool:
        """Say whether a block or receipt with this bloom can have a wanted log; False is certain."""
        if self.addresses and not _any_in(bloom, self.addresses):
            return False
        return all(not wanted or _any_in(bloom, wanted) for wanted in self.topics)


def _any_in(bloom: int, items: frozenset[Address] | frozenset[Word]) -> bool:
    return any(may_contain(bloom, item) for item in items)
