"""What EIP-7702 asks of a pool: accounts whose money can move without their nonce wait alone.

One transaction can take the funds of every account that runs code, so that all else which waits
of them comes to nothing. Whoever has code, or would get some from a waiting transaction, may
therefore have one pending transaction only (the rules are go-ethereum's `validateAuth`).
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from cchain_app.pool import errors
from cchain_app.pool.entry import PoolEntry
from cchain_app.pool.ordering import AccountQueue
from primitives.evm import Address

MOST_OF_AN_AUTHORITY = 1
"""Transactions of one account that may wait when another names it as its authority."""


class Delegation(NamedTuple):
    """What of a transaction's accounts the pool knows that concerns EIP-7702."""

    delegated: bool
    """The sender has code, or a waiting transaction names it as an authority."""
    busiest: int
    """How many transactions wait of that one of its authorities of whom most do."""


PLAIN = Delegation(delegated=False, busiest=0)
"""Of nearly all transactions: neither."""


class Authorities:
    """Whom the waiting transactions name as authorities."""

    def __init__(self, entries: Iterable[PoolEntry] = ()) -> None:
        self._named: Counter[Address] = Counter()
        for entry in entries:
            self.add(entry)

    def __contains__(self, address: Address) -> bool:
        return self._named[address] > 0

    def add(self, entry: PoolEntry) -> None:
        """Note a transaction that waits from now on."""
        self._named.update(entry.authorities)

    def remove(self, entry: PoolEntry) -> None:
        """Note a transaction that was noted and waits no more."""
        self._named.subtract(entry.authorities)


def check_delegation(
    entry: PoolEntry, delegation: Delegation, queue: AccountQueue, nonce: int
) -> None:
    """Check a transaction against what of its sender waits, whose next nonce is given.

    Unspecified: as in go-ethereum one that takes another's place is always let through, a queue
    from before the delegation stays, and any code counts as a delegation.

    Raises:
        InFlightLimitReached: The sender is delegated and has a pending one with another nonce.
        GappedNonceOfDelegated: It is delegated, has none, and this one would be queued.
        AuthorityReserved: Too much waits of one of the authorities.
    """
    if delegation.delegated:
        _check_alone(entry, queue, nonce)
    if delegation.busiest > MOST_OF_AN_AUTHORITY:
        raise errors.AuthorityReserved


def _check_alone(entry: PoolEntry, queue: AccountQueue, nonce: int) -> None:
    if not queue.pending:
        if entry.nonce != nonce:
            raise errors.GappedNonceOfDelegated
    elif not nonce <= entry.nonce < nonce + len(queue.pending):
        raise errors.InFlightLimitReached
