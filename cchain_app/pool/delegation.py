"""Pool rules for EIP-7702: limits for accounts whose funds can move without a change of their nonce.

One transaction can take the funds of every account that runs code, which invalidates all other
transactions of these accounts. An account that has code, or would get code from a pool transaction, may
therefore have only one pending transaction (the rules are go-ethereum's `validateAuth`).
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from cchain_app.pool.entry import AccountQueue, PoolEntry
from cchain_app.pool.errors import PoolReason, PoolRejection
from primitives.evm import Address

MAX_OF_AN_AUTHORITY = 1
"""Number of pool transactions that an account may have if another transaction names it as its authority."""


class Delegation(NamedTuple):
    """The pool's EIP-7702 information about a transaction's accounts."""

    delegated: bool
    """The sender has code, or a pool transaction names it as an authority."""
    busiest: int
    """The highest number of pool transactions that any one of its authorities has sent."""


PLAIN = Delegation(delegated=False, busiest=0)
"""The usual case: no delegation and no authorities with pool transactions."""


class Authorities:
    """The accounts that pool transactions name as authorities."""

    def __init__(self, entries: Iterable[PoolEntry] = ()) -> None:
        self._named: Counter[Address] = Counter()
        for entry in entries:
            self.add(entry)

    def __contains__(self, address: Address) -> bool:
        return self._named[address] > 0

    def add(self, entry: PoolEntry) -> None:
        """Add a transaction that enters the pool."""
        self._named.update(entry.authorities)

    def remove(self, entry: PoolEntry) -> None:
        """Remove a transaction that leaves the pool."""
        self._named.subtract(entry.authorities)


def check_delegation(
    entry: PoolEntry, delegation: Delegation, queue: AccountQueue, nonce: int
) -> None:
    """Check a transaction against its sender's pool transactions; `nonce` is the account's next nonce.

    Unspecified: as in go-ethereum a replacement is always allowed, a queue
    from before the delegation stays, and any code counts as a delegation.

    Raises:
        PoolRejection: The sender is delegated and has a pending one with another nonce; it is delegated, has no
            pending transaction, and this one would be queued; or an authority has too many transactions in the pool.
    """
    if delegation.delegated:
        _check_alone(entry, queue, nonce)
    if delegation.busiest > MAX_OF_AN_AUTHORITY:
        raise PoolRejection(PoolReason.AUTHORITY_RESERVED)


def _check_alone(entry: PoolEntry, queue: AccountQueue, nonce: int) -> None:
    if not queue.pending:
        if entry.nonce != nonce:
            raise PoolRejection(PoolReason.GAPPED_NONCE_OF_DELEGATED)
    elif not nonce <= entry.nonce < nonce + len(queue.pending):
        raise PoolRejection(PoolReason.IN_FLIGHT_LIMIT_REACHED)
