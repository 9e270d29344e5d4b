"""Match logs against filters, for eth_getLogs, polled filters and subscriptions.

`api` parses filters from JSON and limits their size.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cchain_app.blocks.receipt import may_contain
from cchain_app.evm.engine import Log
from primitives.evm import Address, Word


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which logs a client requests. Without addresses and topics: all of them."""

    addresses: frozenset[Address] = frozenset()
    """Matches any of these addresses; empty matches any address."""
    topics: tuple[frozenset[Word], ...] = ()
    """For each position, matches any of these topics; empty matches any topic, but there must be one."""

    def matches(self, logs: Sequence[Log]) -> list[bool]:
        """Return for each log whether it matches. Works by position, not log by log: a block may have thousands.

        Topics beyond the filter's positions are free. Unspecified: as in go-ethereum a filter with more positions than
        the log has topics never matches, even if the further positions are empty.
        """
        matching = [not self.addresses or log.address in self.addresses for log in logs]
        if self.topics:
            matching = [
                is_match and len(log.topics) >= len(self.topics)
                for is_match, log in zip(matching, logs, strict=True)
            ]
        for position, wanted in enumerate(self.topics):
            if wanted:
                matching = [
                    is_match and log.topics[position] in wanted
                    for is_match, log in zip(matching, logs, strict=True)
                ]
        return matching

    def may_match(self, bloom: int) -> bool:
        """Return whether a block or receipt with this bloom may have a matching log; False is certain."""
        if self.addresses and not _any_in(bloom, self.addresses):
            return False
        return all(not wanted or _any_in(bloom, wanted) for wanted in self.topics)


def _any_in(bloom: int, wanted: frozenset[Address] | frozenset[Word]) -> bool:
    return any(may_contain(bloom, value) for value in wanted)
