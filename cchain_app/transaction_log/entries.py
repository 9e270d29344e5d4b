"""Log entries for transactions, blocks and calls, as values; `text` writes them. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.receipt import Receipt
from cchain_app.evm.tracing import Frame
from cchain_app.transaction_log.console import messages_of
from cchain_app.transaction_log.known import KnownSignatures
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
    missing: str | None = None
    """Why messages may be missing, as text."""


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
    room = _MAX_TEXT
    for message in messages_of(frames):
        if len(message) > room:
            messages += (message[:room] + "…", "(more than a log can take)")
            break
        messages.append(message)
        room -= len(message) + 1
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
            method=None if transaction.to is None else known.method(transaction.data),
            value=transaction.value,
            gas_used=gas_used,
            gas_limit=transaction.gas,
            block_number=block.number,
            block_hash=block.hash,
            succeeded=receipt.succeeded,
            recorded=one,
        )
        for (transaction, receipt, gas_used), one in zip(_outcomes(block), inside, strict=True)
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
