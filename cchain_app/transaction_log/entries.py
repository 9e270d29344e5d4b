"""What the log says of one transaction, block or call, as values. How it is written: `text`. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.receipt import Receipt
from cchain_app.evm.tracing import Frame
from cchain_app.transaction_log.console import messages_of
from cchain_app.transaction_log.known import KnownSignatures
from cchain_app.transaction_log.reasons import Failure, failure_of
from cchain_app.txs.transaction import Transaction, contract_address
from primitives.evm import Address, Hash

TRANSFER_GAS: Final = 21_000
"""What a transaction uses that only moves coins."""

_MOST_TEXT: Final = 65_536
"""Characters of all messages of one transaction or call."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is known of the inside of a transaction."""

    failure: Failure | None = None
    messages: tuple[str, ...] = ()
    """Of console.log, in order."""
    missing: str | None = None
    """Why it could not be recorded, in words."""


NOTHING: Final = Recorded()


@dataclass(frozen=True, slots=True)
class TransactionEntry:
    """A transaction of an accepted block."""

    hash: Hash
    sender: Address
    to: Address | None
    created: Address | None
    """The contract that it creates, even if it failed."""
    method: str | None
    """Signature or selector; None where there is none: a creation, or a transfer."""
    value: int
    """Wei."""
    gas_used: int
    gas_limit: int
    block_number: int
    block_hash: Hash
    succeeded: bool
    recorded: Recorded


@dataclass(frozen=True, slots=True)
class EmptyBlockEntry:
    """An accepted block without transactions."""

    number: int
    hash: Hash
    base_fee: int | None
    """Wei; None before London."""


@dataclass(frozen=True, slots=True)
class SummaryEntry:
    """Blocks and calls that are counted only, since there are too many to be told one by one."""

    first_block: int | None
    """None: no block is among them."""
    last_block: int | None
    transactions: int
    gas_used: int
    calls: int


@dataclass(frozen=True, slots=True)
class CallEntry:
    """Calls of an RPC method that came one after another."""

    method: str
    count: int = 1
    exists: bool = True
    """Whether there is such a method."""
    messages: tuple[str, ...] = ()
    """Of console.log, of the one call that is told."""
    missing: str | None = None
    """Why there may be messages that are not shown, in words."""


Entry = TransactionEntry | EmptyBlockEntry | SummaryEntry | CallEntry


def to_record(block: AcceptedBlock) -> range:
    """Return which transactions of a block have something inside: from the first to the last of them.

    The others were transfers that succeeded.
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


def recorded(frames: Sequence[Frame], known: KnownSignatures) -> Recorded:
    """Return what the frames of a transaction tell."""
    return Recorded(failure_of(frames, known), shown_messages(frames))


def shown_messages(frames: Sequence[Frame]) -> tuple[str, ...]:
    """Return the messages of a transaction or call, up to a length that a log can take."""
    messages: list[str] = []
    room = _MOST_TEXT
    for message in messages_of(frames):
        if len(message) > room:
            messages += (message[:room] + "…", "(more than a log can take)")
            break
        messages.append(message)
        room -= len(message) + 1
    return tuple(messages)


def entries_of(
    block: AcceptedBlock, inside: Sequence[Recorded], known: KnownSignatures
) -> list[Entry]:
    """Return what the log says of a block: an entry for each transaction, or one that there is none.

    Args:
        block: The block.
        inside: Of each transaction what is known of its inside.
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
    """Yield each transaction with its receipt and the gas that it used."""
    before = 0
    for transaction, receipt in zip(block.transactions, block.receipts, strict=True):
        yield transaction, receipt, receipt.cumulative_gas_used - before
        before = receipt.cumulative_gas_used


def _created(transaction: Transaction) -> Address | None:
    if transaction.to is not None:
        return None
    return contract_address(transaction.sender, transaction.nonce)
