"""Admission to the pool: first the checks that need no state, then those against the sender's account.

The checks and their order are go-ethereum's (`eth_sendRawTransaction`). The check of the signature is in
`txs.codec`, and eviction from a full pool is in `eviction`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cchain_app.config import at_least
from cchain_app.pool.delegation import Delegation, check_delegation
from cchain_app.pool.entry import PoolEntry, PoolLimits
from cchain_app.pool.errors import PoolReason, PoolRejection
from cchain_app.pool.eviction import make_room, slots_of
from cchain_app.pool.ordering import AccountQueue, extend, split
from cchain_app.txs.codec import DecodedTransaction
from cchain_app.txs.transaction import (
    DYNAMIC_FEE,
    LEGACY,
    SET_CODE,
    InvalidTransaction,
    Transaction,
    floor_gas,
    intrinsic_gas,
)
from primitives.evm import Hash
from primitives.hexadecimal import checksum_address

Outcome = Hash | PoolRejection | InvalidTransaction
"""The hash of an admitted transaction, or the reason why it was not admitted."""

MAX_INITCODE_SIZE = 49_152
"""Bytes of init code (EIP-3860, since Shanghai)."""

MAX_TX_GAS = 2**24
"""Gas limit of one transaction (EIP-7825, since Osaka)."""

MAXIMUM_NONCE = 2**64 - 1
"""The first nonce that no transaction may have (EIP-2681)."""

_ETHER = 10**18


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """The rules that a transaction must satisfy before its sender's account is read."""

    fork: str
    """Rule set of the next block."""
    block_gas_limit: int
    """Gas limit of the head."""
    limits: PoolLimits = field(default_factory=PoolLimits)


class PoolCounts(NamedTuple):
    """The number of used slots in the pool."""

    pending: int
    queued: int


class Admission(NamedTuple):
    """The effects of admitting a transaction."""

    pending: bool
    """Whether it can run now; else it is queued."""
    replaces: PoolEntry | None
    """The transaction with the same nonce that is removed."""
    promoted: tuple[PoolEntry, ...]
    """Queued transactions of the sender that become pending."""
    evicted: tuple[PoolEntry, ...]
    """Other transactions that are evicted; never one that is in `promoted`."""
    queue: AccountQueue
    """The sender's transactions in the pool afterwards."""


def check_before_sender(
    transaction: Transaction | DecodedTransaction, rules: AdmissionRules
) -> None:
    """Run the checks that go-ethereum runs before that of the signature.

    Raises:
        PoolRejection: A check fails.
    """
    check_endpoint(transaction, rules.limits)
    check_size(len(transaction.raw), rules.limits)
    _check_type(transaction, rules.fork)
    _check_gas_limits(transaction, rules)
    if transaction.max_priority_fee_per_gas > transaction.max_fee_per_gas:
        raise PoolRejection(PoolReason.TIP_ABOVE_FEE_CAP)


def check_after_sender(
    transaction: Transaction | DecodedTransaction, rules: AdmissionRules
) -> None:
    """Run go-ethereum's checks that follow the recovery of the sender and do not need its account.

    Raises:
        PoolRejection: A check fails.
    """
    if transaction.nonce >= MAXIMUM_NONCE:
        raise PoolRejection(PoolReason.NONCE_AT_MAXIMUM)
    _check_gas_needed(transaction, rules.fork)
    tip, minimum_tip = transaction.max_priority_fee_per_gas, rules.limits.minimum_tip
    if tip < minimum_tip:
        raise PoolRejection(PoolReason.TIP_BELOW_MINIMUM, tip=tip, minimum=minimum_tip)
    if transaction.type == SET_CODE and not transaction.authorizations:
        raise PoolRejection(PoolReason.NO_AUTHORIZATIONS)


def check_endpoint(transaction: Transaction | DecodedTransaction, limits: PoolLimits) -> None:
    """Check the rules for transactions that arrive over RPC.

    Raises:
        PoolRejection: Its gas may cost more than the cap, or it is legacy and names no chain.
    """
    fee = transaction.gas * transaction.max_fee_per_gas
    if limits.fee_cap is not None and fee > limits.fee_cap:
        raise PoolRejection(PoolReason.FEE_ABOVE_CAP, fee=fee / _ETHER, cap=limits.fee_cap / _ETHER)
    if (
        transaction.type == LEGACY
        and transaction.chain_id is None
        and not limits.unprotected_allowed
    ):
        raise PoolRejection(PoolReason.NOT_REPLAY_PROTECTED)


def check_size(size: int, limits: PoolLimits) -> None:
    """Check the size of an envelope in bytes; best done before the envelope is decoded.

    Raises:
        PoolRejection: It is too large.
    """
    if size > limits.transaction_bytes:
        raise PoolRejection(
            PoolReason.OVERSIZED_TRANSACTION, size=size, limit=limits.transaction_bytes
        )


def _check_type(transaction: Transaction | DecodedTransaction, fork: str) -> None:
    for applies, required in (
        (transaction.type != LEGACY, "berlin"),
        (transaction.type == DYNAMIC_FEE, "london"),
        (transaction.type == SET_CODE, "prague"),
    ):
        if applies and not at_least(fork, required):
            raise PoolRejection(
                PoolReason.TYPE_NOT_ACTIVE, type=transaction.type, fork=required.title()
            )


def _check_gas_limits(transaction: Transaction | DecodedTransaction, rules: AdmissionRules) -> None:
    size = len(transaction.data)
    if transaction.to is None and size > MAX_INITCODE_SIZE and at_least(rules.fork, "shanghai"):
        raise PoolRejection(PoolReason.INIT_CODE_TOO_LARGE, size=size, limit=MAX_INITCODE_SIZE)
    if transaction.gas > MAX_TX_GAS and at_least(rules.fork, "osaka"):
        raise PoolRejection(
            PoolReason.GAS_ABOVE_TRANSACTION_CAP, gas=transaction.gas, cap=MAX_TX_GAS
        )
    if transaction.gas > rules.block_gas_limit:
        raise PoolRejection(PoolReason.GAS_ABOVE_BLOCK_LIMIT)


def _check_gas_needed(transaction: Transaction | DecodedTransaction, fork: str) -> None:
    minimum = intrinsic_gas(transaction, fork)
    if transaction.gas < minimum:
        raise PoolRejection(PoolReason.INTRINSIC_GAS_TOO_LOW, gas=transaction.gas, minimum=minimum)
    minimum = floor_gas(transaction.data, fork)
    if transaction.gas < minimum:
        raise PoolRejection(PoolReason.FLOOR_GAS_TOO_LOW, gas=transaction.gas, minimum=minimum)


def check_against(
    entry: PoolEntry,
    *,
    nonce: int,
    balance: int,
    queue: AccountQueue,
    delegation: Delegation,
    counts: PoolCounts | None,
    others: Callable[[], Iterable[AccountQueue]],
    limits: PoolLimits,
    base_fee: int,
) -> Admission:
    """Check a transaction against its sender's account and the pool, and return the effects of admitting it.

    Args:
        entry: The transaction, after `check_before_sender` and `check_after_sender`.
        nonce: The account's next nonce at the head.
        balance: The account's balance at the head, in wei.
        queue: The sender's transactions in the pool, split by that nonce and balance.
        delegation: The EIP-7702 status of its accounts.
        counts: The used slots of the pool; None if it is far from its limits.
        others: Returns all other senders' queues; only called if the pool is full.
        limits: The pool's limits.
        base_fee: Base fee of the next block, in wei.

    Raises:
        PoolRejection: In this order: it is known, its fee cap is too low, its nonce is used, the sender cannot pay
            it, it breaks a limit of delegated accounts, it replaces another one without paying enough more, the sender
            has too many queued ones, or the pool is full of better ones.
    """
    replaces = queue.at(entry.nonce)
    if replaces is not None and replaces.hash == entry.hash:
        raise PoolRejection(PoolReason.ALREADY_KNOWN)
    if entry.max_fee_per_gas < limits.minimum_fee:
        raise PoolRejection(
            PoolReason.FEE_CAP_BELOW_MINIMUM,
            sender=checksum_address(entry.sender),
            fee_cap=entry.max_fee_per_gas,
            minimum=limits.minimum_fee,
        )
    if entry.nonce < nonce:
        raise PoolRejection(PoolReason.NONCE_TOO_LOW, next_nonce=nonce, nonce=entry.nonce)
    _check_funds(entry, balance, queue)
    check_delegation(entry, delegation, queue, nonce)
    if replaces is not None and not _outbids(entry, replaces, limits.price_bump):
        raise PoolRejection(PoolReason.REPLACEMENT_UNDERPRICED)
    kept = queue if replaces is None else _without(queue, replaces, nonce, balance)
    after, evicted = _cap_queue(extend(kept, entry, nonce, balance), entry, limits)
    if counts is not None and _is_too_full(counts, queue, after, limits):
        evicted += make_room(entry, after, others(), limits, base_fee)
    return Admission(
        pending=entry.nonce - nonce < len(after.pending),
        replaces=replaces,
        promoted=_promoted(entry, queue, after, evicted),
        evicted=evicted,
        queue=after if not evicted else _less(after, evicted, nonce, balance),
    )


def _without(queue: AccountQueue, entry: PoolEntry, nonce: int, balance: int) -> AccountQueue:
    return split((pooled for pooled in queue.waiting if pooled is not entry), nonce, balance)


def _less(queue: AccountQueue, gone: Sequence[PoolEntry], nonce: int, balance: int) -> AccountQueue:
    hashes = {entry.hash for entry in gone}
    return split((entry for entry in queue.waiting if entry.hash not in hashes), nonce, balance)


def _promoted(
    entry: PoolEntry, before: AccountQueue, after: AccountQueue, evicted: Sequence[PoolEntry]
) -> tuple[PoolEntry, ...]:
    """Return the other transactions that the entry made pending; only queued ones can be."""
    if not before.queued:
        return ()
    staying = {queued.hash for queued in before.queued} - {leaving.hash for leaving in evicted}
    return tuple(pending for pending in after.pending if pending.hash in staying)


def _check_funds(entry: PoolEntry, balance: int, queue: AccountQueue) -> None:
    if entry.cost > balance:
        raise PoolRejection(
            PoolReason.FUNDS_BELOW_COST,
            balance=balance,
            cost=entry.cost,
            overshot=entry.cost - balance,
        )
    spent = queue.spent
    previous = queue.at(entry.nonce)
    if previous is None or previous in queue.queued:
        if spent + entry.cost > balance:
            raise PoolRejection(
                PoolReason.FUNDS_BELOW_QUEUED_COST,
                balance=balance,
                queued=spent,
                cost=entry.cost,
                overshot=spent + entry.cost - balance,
            )
    elif spent - previous.cost + entry.cost > balance:
        raise PoolRejection(
            PoolReason.FUNDS_BELOW_REPLACEMENT_COST,
            balance=balance,
            queued=spent,
            bump=entry.cost - previous.cost,
            overshot=spent - previous.cost + entry.cost - balance,
        )


def _outbids(entry: PoolEntry, previous: PoolEntry, price_bump: int) -> bool:
    """Return whether both fees are higher by the given percentage (rounded down to whole wei)."""
    return _is_bumped(entry.max_fee_per_gas, previous.max_fee_per_gas, price_bump) and _is_bumped(
        entry.max_priority_fee_per_gas, previous.max_priority_fee_per_gas, price_bump
    )


def _is_bumped(price: int, previous: int, price_bump: int) -> bool:
    return price > previous and price >= previous * (100 + price_bump) // 100


def _cap_queue(
    queue: AccountQueue, entry: PoolEntry, limits: PoolLimits
) -> tuple[AccountQueue, tuple[PoolEntry, ...]]:
    """Remove the highest nonces from a queue that the entry made too long."""
    surplus = queue.queued[limits.account_queued :]
    if not surplus or entry not in queue.queued:
        return queue, ()
    if entry in surplus:
        raise PoolRejection(PoolReason.ACCOUNT_LIMIT_EXCEEDED, pooled=len(queue.queued) - 1)
    return queue._replace(queued=queue.queued[: limits.account_queued]), surplus


def _is_too_full(
    counts: PoolCounts, before: AccountQueue, after: AccountQueue, limits: PoolLimits
) -> bool:
    pending = counts.pending + slots_of(after.pending) - slots_of(before.pending)
    queued = counts.queued + slots_of(after.queued) - slots_of(before.queued)
    return pending > limits.pending_slots or queued > limits.queued_slots
