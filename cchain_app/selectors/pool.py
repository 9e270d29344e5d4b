"""The pool as clients see it: its contents, executable and queued transactions, and pending nonces."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.evm.engine import AccountState
from cchain_app.memory import PoolTag
from cchain_app.pool.entry import AccountQueue, PoolEntry
from cchain_app.pool.queues import next_nonce as next_free_nonce
from cchain_app.pool.queues import split
from cchain_app.selectors import blocks
from cchain_app.selectors.state import StateAt, prefetch_accounts, state_at
from cchain_app.store import chain as stored
from cchain_app.store import pool as pool_rows
from cchain_app.store import queries
from cchain_app.txs.blobs import is_blob_transaction
from cchain_app.txs.codec import decode_unsigned, with_sender
from cchain_app.txs.transaction import Transaction
from chaindb import clock
from primitives.evm import Address, Hash


class PoolContent(NamedTuple):
    """All pending and queued transactions by sender, in ascending order of nonces."""

    pending: dict[Address, list[Transaction]]
    queued: dict[Address, list[Transaction]]


@contextmanager
def read_ahead(chain: EvmChain) -> Iterator[None]:
    """Prefetch in one query the first reads of a body that builds a block on the remembered head."""
    head = chain.memory.blocks.head
    asked = []
    if head is not None:
        memory, is_development = chain.memory.pool, chain.is_development
        asked = queries.of_building(head.number, memory, is_development=is_development)
    with chain.db.read_ahead([*asked, *clock.queries(chain.db)]):
        yield


def version(chain: EvmChain) -> Hashable:
    """Return a value that changes whenever the pool changes."""
    if chain.node.profile == "embedded":
        return chain.memory.pool.changes
    return pool_rows.version(chain.db)


def is_empty(chain: EvmChain) -> bool:
    """Return whether neither transactions nor atomic transactions are pending."""
    return pool_rows.is_empty(chain.db)


def transaction(chain: EvmChain, transaction_hash: Hash) -> Transaction | None:
    """Return a transaction of the pool, or None if it is not there."""
    return transactions(chain, [transaction_hash]).get(transaction_hash)


def find(
    chain: EvmChain, transaction_hash: Hash
) -> blocks.TransactionPosition | Transaction | None:
    """Return the block and index of a mined transaction, else the transaction in the pool, else None.

    An acknowledged transaction is always mined or in the pool. A transaction that was in no block, and a moment later
    is not in the pool either, has been mined in between, so its block is looked up again.
    """
    found = blocks.find_transaction(chain, transaction_hash)
    if found is not None:
        return found
    waiting = transaction(chain, transaction_hash)
    if waiting is not None:
        return waiting
    blocks.catch_up(chain)
    return blocks.find_transaction(chain, transaction_hash)


def transactions(chain: EvmChain, hashes: Iterable[Hash]) -> dict[Hash, Transaction]:
    """Return the transactions that are in the pool, by hash."""
    memory = chain.memory.transactions
    wanted = list(hashes)
    waiting = {
        tx_hash: memory.get(tx_hash) or with_sender(decode_unsigned(raw), sender)
        for tx_hash, (sender, raw) in pool_rows.envelopes(chain.db, wanted).items()
    }
    return {tx_hash: waiting[tx_hash] for tx_hash in wanted if tx_hash in waiting}


def next_nonce(chain: EvmChain, address: Address) -> int:
    """Return an account's pending nonce: the nonce after its pending transactions."""
    return next_nonces(chain, [address])[address]


def next_nonces(chain: EvmChain, addresses: Iterable[Address]) -> dict[Address, int]:
    """Return the pending nonces of accounts; the transactions of accounts that are not cached are read in one query."""
    memory = chain.memory
    tag = memory.pool.tag(memory.state)
    remembers = chain.node.profile == "embedded" or memory.pool.shared is not None
    nonces: dict[Address, int] = {}
    missing: dict[Address, list[PoolEntry]] = {}
    for address in addresses:
        known = memory.pool.nonce(address, tag) if remembers else None
        if known is None:
            missing[address] = []
        else:
            nonces[address] = known
    if not missing:
        return nonces
    for entry in _entries_of(chain, list(missing)):
        missing[entry.sender].append(entry)
    number = blocks.head(chain).number
    if len(missing) > 1:
        prefetch_accounts(chain, list(missing), number)
    state = state_at(chain, number)
    for address, waiting in missing.items():
        account = state.account(address)
        queue = _split(chain, waiting, state, address)
        nonces[address] = next_free_nonce(account.nonce if account else 0, queue.pending)
        if remembers:
            memory.pool.remember_nonce(address, nonces[address], tag)
    return nonces


def queues(
    chain: EvmChain,
    entries: Iterable[PoolEntry],
    changed: Mapping[Address, AccountState | None] = MappingProxyType({}),
) -> dict[Address, AccountQueue]:
    """Split transactions by sender, and each sender's into executable and queued ones.

    Args:
        chain: The chain.
        entries: Transactions of the pool.
        changed: Accounts whose state differs from that at the head.
    """
    by_sender: defaultdict[Address, list[PoolEntry]] = defaultdict(list)
    for entry in entries:
        by_sender[entry.sender].append(entry)
    number = blocks.head(chain).number
    prefetch_accounts(chain, list(by_sender), number)
    state = state_at(chain, number)
    return {
        sender: _split_by(chain, waiting, changed[sender])
        if sender in changed
        else _split(chain, waiting, state, sender)
        for sender, waiting in by_sender.items()
    }


def content(chain: EvmChain, addresses: Iterable[Address] | None = None) -> PoolContent:
    """Return the pool's transactions, of these senders or of all."""
    if addresses is None:
        entries = _of_head(chain, lambda: pool_rows.entries(chain.db, chain.memory.pool))
    else:
        senders = list(addresses)
        entries = _entries_of(chain, senders)
    split_up = queues(chain, entries)
    found = transactions(chain, (entry.hash for entry in entries))

    def listed(part: Iterable[PoolEntry]) -> list[Transaction]:
        return [found[entry.hash] for entry in part if entry.hash in found]

    pending = {sender: listed(queue.pending) for sender, queue in split_up.items()}
    queued = {sender: listed(queue.queued) for sender, queue in split_up.items()}
    return PoolContent(
        {sender: waiting for sender, waiting in pending.items() if waiting},
        {sender: waiting for sender, waiting in queued.items() if waiting},
    )


def counts(chain: EvmChain) -> tuple[int, int]:
    """Return the number of executable transactions, and the number of queued ones."""
    split_up = queues(
        chain, _of_head(chain, lambda: pool_rows.entries(chain.db, chain.memory.pool))
    ).values()
    return sum(len(queue.pending) for queue in split_up), sum(
        len(queue.queued) for queue in split_up
    )


def counts_of(chain: EvmChain, tag: PoolTag) -> tuple[int, int]:
    """Return these numbers from memory if the pool with this tag was counted before."""
    blocks.head(chain)  # starting the memory resets the cached counts
    return chain.memory.counts.of(tag, lambda: counts(chain))


def pending_hashes(chain: EvmChain) -> list[Hash]:
    """Return the hashes of executable transactions, in order of arrival."""
    pending = [
        entry
        for queue in queues(
            chain, _of_head(chain, lambda: pool_rows.entries(chain.db, chain.memory.pool))
        ).values()
        for entry in queue.pending
    ]
    return [entry.hash for entry in sorted(pending, key=lambda entry: entry.arrival)]


def newest_hashes(chain: EvmChain, limit: int) -> list[Hash]:
    """Return the hashes of the transactions that arrived last, at most `limit`, newest last.

    Unspecified: blob transactions are not gossiped. Other nodes do not take them, and they would need the blobs.
    """
    return pool_rows.newest(chain.db, limit)


def raws_of(chain: EvmChain, hashes: Iterable[Hash]) -> dict[Hash, bytes]:
    """Return the envelopes of the transactions without blobs that are in the pool, by hash."""
    found = pool_rows.envelopes(chain.db, hashes).items()
    return {tx_hash: raw for tx_hash, (_, raw) in found if not is_blob_transaction(raw)}


def _entries_of(chain: EvmChain, senders: Sequence[Address]) -> list[PoolEntry]:
    """Return the pool's transactions of some senders at the remembered head."""
    with chain.db.read_ahead(queries.of_senders(chain.db, senders)):
        return _of_head(chain, lambda: pool_rows.entries_of(chain.db, senders))


def _of_head(chain: EvmChain, read: Callable[[], list[PoolEntry]]) -> list[PoolEntry]:
    """Return the pool's transactions at the remembered head.

    A block removes its transactions from the pool in the moment it becomes the head of the database. Unless this
    process checks for that, these transactions would be neither pending nor mined until the block is announced, and
    a pending nonce would decrease.
    """
    while True:
        head = blocks.head(chain)
        entries = read()
        if stored.head_number(chain.db) == head.number:
            return entries
        blocks.catch_up(chain)


def _split(
    chain: EvmChain, waiting: Iterable[PoolEntry], state: StateAt, sender: Address
) -> AccountQueue:
    return _split_by(chain, waiting, state.account(sender))


def _split_by(
    chain: EvmChain, waiting: Iterable[PoolEntry], account: AccountState | None
) -> AccountQueue:
    funds = chain.pool_limits.funds(account.balance if account else 0)
    return split(waiting, account.nonce if account else 0, funds)
