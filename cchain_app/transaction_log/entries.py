"""Log entries for transactions, blocks and calls, as values; `text` writes them. Pure.

Repeated entries are collapsed to one per second with a count.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.receipt import Receipt
from cchain_app.evm.tracing import Frame
from cchain_app.transaction_log.console import messages_of
from cchain_app.transaction_log.declarations import KnownSignatures
from cchain_app.transaction_log.reasons import FailureText, failure_of
from cchain_app.txs.transaction import Transaction, contract_address
from primitives.evm import Address, Hash

TRANSFER_GAS: Final = 21_000
"""Gas of a transaction that only transfers coins."""

_MAX_TEXT: Final = 65_536
"""Maximum length of all messages of one transaction or call, in characters."""


@dataclass(frozen=True, slots=True)
class ExecutionDetails:
    """The recorded details of a transaction's execution."""

    failure: FailureText | None = None
    messages: tuple[str, ...] = ()
    """Messages of console.log, in order."""
    missing: str | None = None
    """Why it could not be recorded, as text."""
    tree: tuple[str, ...] = ()
    """Its calls as lines, if they are printed."""


NOTHING: Final = ExecutionDetails()


@dataclass(frozen=True, slots=True)
class TransactionEntry:
    """A transaction of an accepted block."""

    hash: Hash
    sender: Address
    to: Address | None
    created: Address | None
    """The contract that it creates, even if the creation failed."""
    method: str | None
    """Signature or selector; None for a creation or a transfer."""
    value: int
    """Wei."""
    gas_used: int
    gas_limit: int
    block_number: int
    block_hash: Hash
    succeeded: bool
    recorded: ExecutionDetails


@dataclass(frozen=True, slots=True)
class EmptyBlockEntry:
    """An accepted block without transactions."""

    number: int
    hash: Hash
    base_fee: int | None
    """Wei; None before London."""


@dataclass(frozen=True, slots=True)
class SummaryEntry:
    """Blocks and calls that are only counted, since there are too many for separate entries."""

    first_block: int | None
    """None: no blocks are included."""
    last_block: int | None
    transactions: int
    gas_used: int
    calls: int


@dataclass(frozen=True, slots=True)
class CallEntry:
    """Consecutive calls of an RPC method."""

    method: str
    count: int = 1
    exists: bool = True
    """Whether the method exists."""
    messages: tuple[str, ...] = ()
    """Messages of console.log; only for an entry of a single call."""
    tree: tuple[str, ...] = ()
    """The calls in it as lines, if they are printed; only for an entry of a single call."""
    missing: str | None = None
    """Why messages may be missing, as text."""
    failure: FailureText | None = None
    """Why each of the calls failed; None: they succeeded."""
    code: int | None = None
    """The code of the JSON-RPC error; None: they succeeded."""


Entry = TransactionEntry | EmptyBlockEntry | SummaryEntry | CallEntry


def to_record(block: AcceptedBlock) -> range:
    """Return the range of a block's transactions to record: from the first to the last that needs it.

    Successful transfers need no recording.
    """
    found = [
        index
        for index, (transaction, receipt, gas_used) in enumerate(_outcomes(block))
        if not receipt.succeeded
        or transaction.to is None
        or transaction.data
        or gas_used != TRANSFER_GAS
    ]
    return range(found[0], found[-1] + 1) if found else range(0)


def recorded(frames: Sequence[Frame], known: KnownSignatures) -> ExecutionDetails:
    """Return the details of a transaction from its frames."""
    return ExecutionDetails(failure_of(frames, known), shown_messages(frames))


def shown_messages(frames: Sequence[Frame]) -> tuple[str, ...]:
    """Return the messages of a transaction or call, up to the maximum length."""
    messages: list[str] = []
    characters_left = _MAX_TEXT
    for message in messages_of(frames):
        if len(message) > characters_left:
            messages += (message[:characters_left] + "…", "(more than a log can take)")
            break
        messages.append(message)
        characters_left -= len(message) + 1
    return tuple(messages)


def entries_of(
    block: AcceptedBlock, inside: Sequence[ExecutionDetails], known: KnownSignatures
) -> list[Entry]:
    """Return a block's log entries: one for each transaction, or a single one for an empty block.

    Args:
        block: The block.
        inside: The recorded details of each transaction.
        known: Names of methods.
    """
    if not block.transactions:
        return [EmptyBlockEntry(block.number, block.hash, block.header.base_fee)]
    return [
        TransactionEntry(
            hash=transaction.hash,
            sender=transaction.sender,
            to=transaction.to,
            created=_created(transaction),
            method=None
            if transaction.to is None
            else known.method(transaction.data, transaction.to),
            value=transaction.value,
            gas_used=gas_used,
            gas_limit=transaction.gas,
            block_number=block.number,
            block_hash=block.hash,
            succeeded=receipt.succeeded,
            recorded=trace,
        )
        for (transaction, receipt, gas_used), trace in zip(_outcomes(block), inside, strict=True)
    ]


def _outcomes(block: AcceptedBlock) -> Iterator[tuple[Transaction, Receipt, int]]:
    """Yield each transaction with its receipt and its gas used."""
    before = 0
    for transaction, receipt in zip(block.transactions, block.receipts, strict=True):
        yield transaction, receipt, receipt.cumulative_gas_used - before
        before = receipt.cumulative_gas_used


def _created(transaction: Transaction) -> Address | None:
    if transaction.to is not None:
        return None
    return contract_address(transaction.sender, transaction.nonce)


SECONDS: Final = 1.0


class Collapse:
    """Passes entries on immediately, and holds back those that repeat the last one within a second.

    Calls of one method repeat each other unless they have messages, and summaries repeat each other. A held entry
    is written before any following entry, and after a second at the latest.

    Args:
        seconds: How long entries are held back.
        clock: Returns increasing seconds.
    """

    def __init__(
        self, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._last: Entry | None = None
        self._held: Entry | None = None
        self._due = 0.0

    def put(self, entry: Entry) -> Iterator[Entry]:
        """Yield the entries to write when this entry arrives."""
        yield from self.take_due()
        if _repeats(self._last, entry) and self._clock() < self._due:
            self._held = entry if self._held is None else _joined(self._held, entry)
            return
        yield from self.take()
        self._last, self._due = entry, self._clock() + self._seconds
        yield entry

    def take_due(self) -> Iterator[Entry]:
        """Yield the held entry if its time is over."""
        if self._held is not None and self._clock() >= self._due:
            self._due = self._clock() + self._seconds
            yield from self.take()

    def take(self) -> Iterator[Entry]:
        """Yield the held entry."""
        held, self._held = self._held, None
        if held is not None:
            yield held

    def seconds_left(self) -> float | None:
        """Return the seconds until the held entry is due; None: no entry is held."""
        return None if self._held is None else max(self._due - self._clock(), 0.0)


def _repeats(last: Entry | None, entry: Entry) -> bool:
    if isinstance(last, SummaryEntry) and isinstance(entry, SummaryEntry):
        return True
    return (
        isinstance(last, CallEntry)
        and isinstance(entry, CallEntry)
        and (last.method, last.exists, last.failure) == (entry.method, entry.exists, entry.failure)
        and not entry.messages
        and not entry.tree
        and entry.missing is None
    )


def _joined(held: Entry, entry: Entry) -> Entry:
    if isinstance(held, CallEntry) and isinstance(entry, CallEntry):
        return replace(held, count=held.count + entry.count)
    assert isinstance(held, SummaryEntry)
    assert isinstance(entry, SummaryEntry)
    first = held.first_block if held.first_block is not None else entry.first_block
    last = entry.last_block if entry.last_block is not None else held.last_block
    return SummaryEntry(
        first,
        last,
        held.transactions + entry.transactions,
        held.gas_used + entry.gas_used,
        held.calls + entry.calls,
    )
