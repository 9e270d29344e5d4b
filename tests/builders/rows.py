"""Rows of a long chain, inserted in bulk: for lists and searches, not for execution.

Everything is computed from numbers, so a test knows the contents of each row. Hashes do not match the
bytes in the same row, and balances are invented: the rows obey only the layout of keys.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from typing import Any

from django.db import DEFAULT_DB_ALIAS, transaction

from cchain_app import models
from cchain_app.blocks.header import Header, encode_header
from cchain_app.txs.transaction import DYNAMIC_FEE, LEGACY
from chaindb.database import Database
from primitives.evm import Address, Hash, Word
from primitives.hashing import EMPTY_HASH, EMPTY_ROOT, keccak256
from tests.builders.transactions import signed

PER_BLOCK = 10
"""Transactions of each block except the genesis."""

LOGS_PER_BLOCK = 4
"""The transactions at indexes 3, 4, 5 and 6 of a block call the token and emit a log each."""

CREATION = 9
"""The index of a block's contract creation."""

FAILED = 8
"""The index of a block's failed transaction."""

GAS_LIMIT = 15_000_000
GENESIS_TIME = 1_790_000_000
GWEI = 10**9
COIN = 10**18

TRANSFER = keccak256(b"Transfer(address,address,uint256)")
UNKNOWN_EVENT = keccak256(b"Moved(uint256)")
CODE = bytes.fromhex("6080604052348015600e575f80fd5b50") * 40
CODE_HASH = keccak256(CODE)
CALL = bytes.fromhex("a9059cbb") + bytes(12) + b"\x22" * 20 + (5 * COIN).to_bytes(32, "big")

COINBASE = Address(bytes.fromhex("0100000000000000000000000000000000000000"))
PEOPLE = 1_000
"""The number of accounts that send and receive."""

FIRST_IMPERSONATION = 1_001
"""The key of the first impersonated account, far from keys that the database assigns."""

_CHUNK = 20_000
"""Rows per statement, so that a million rows are never in memory together."""


def block_hash(number: int) -> Hash:
    """Return the hash of block `number`."""
    return keccak256(b"block %d" % number)


def transaction_hash(number: int, place: int) -> Hash:
    """Return the hash of the transaction at an index of block `number`."""
    return keccak256(b"transaction %d %d" % (number, place))


def waiting_hash(index: int) -> Hash:
    """Return the hash of a pending transaction in the pool."""
    return keccak256(b"waiting %d" % index)


@cache
def person(index: int) -> Address:
    """Return the address of an account that sends and receives."""
    return Address(keccak256(b"person %d" % (index % PEOPLE))[:20])


def contract(number: int) -> Address:
    """Return the contract that block `number` created."""
    return Address(keccak256(b"contract %d" % number)[:20])


TOKEN = contract(1)
"""The contract that all calls call and that emits all logs."""


def sender_of(number: int, place: int) -> Address:
    """Return the sender of the transaction at an index of block `number`."""
    return person(number * PER_BLOCK + place)


@transaction.atomic
def write_chain(blocks: int, *, idle_accounts: int = 0, waiting: int = 0) -> None:
    """Write a genesis, `blocks` blocks on top, idle accounts, and pending transactions."""
    numbers = range(1, blocks + 1)
    _write(models.Block, _BLOCK, (_block(number) for number in range(blocks + 1)))
    _write(models.Transaction, _TRANSACTION, _each(numbers, PER_BLOCK, _transaction))
    _write(models.Receipt, _RECEIPT, _each(numbers, PER_BLOCK, _receipt))
    _write(models.Log, _LOG, _each(numbers, LOGS_PER_BLOCK, _log))
    _write(models.Call, _CALL, _each(numbers, PER_BLOCK, _call))
    progress = (1, models.row_id(blocks + 1), 0)
    _write(models.CallProgress, ("id", "next_call", "unrecorded"), iter([progress]))
    _write(models.Account, _ACCOUNT, _accounts(blocks, idle_accounts))
    _write(models.AccountChange, _CHANGE, _each(numbers, 2, _change))
    _write(models.Code, ("hash", "code"), iter([(CODE_HASH, CODE)]))
    _write(models.StorageSlot, ("key", "value"), _slots())
    _write(models.DevelopmentChange, _BY_HAND, map(_by_hand, numbers))
    _write(models.Snapshot, _SNAPSHOT, map(_snapshot, numbers))
    _write(models.Blob, _BLOB, map(_blob, numbers))
    _write(models.Impersonation, ("id", "address"), map(_impersonated, range(60)))
    _write(models.ImpersonatedSignature, _SIGNATURE, map(_signature, range(1, 61)))
    _write(
        models.CreatedAccount, ("number", "address"), ((item, person(item)) for item in range(60))
    )
    _write(models.ForkedAccount, _ACCOUNT, (_fetched(number) for number in numbers))
    _write(models.ForkedSlot, ("key", "value"), _slots())
    _write(models.ForkedHash, ("number", "hash"), ((other, block_hash(other)) for other in numbers))
    _write(models.PoolTransaction, _WAITING, (_waiting(index, blocks) for index in range(waiting)))


def erase_chain() -> None:
    """Delete all rows that `write_chain` wrote."""
    for model in _WRITTEN:
        model.objects.all()._raw_delete(DEFAULT_DB_ALIAS)


_WRITTEN: tuple[Any, ...] = (
    models.ForkedHash, models.ForkedSlot, models.ForkedAccount, models.CreatedAccount, models.Impersonation,
    models.ImpersonatedSignature,
    models.Blob, models.Snapshot, models.DevelopmentChange, models.PoolTransaction, models.StorageSlot, models.Code, models.AccountChange, models.Account,
    models.CallProgress, models.Call, models.Log, models.Receipt, models.Transaction, models.Block,
)  # fmt: skip

_BLOCK = (
    "number", "hash", "parent_hash", "timestamp", "state_root", "miner", "gas_limit", "gas_used",
    "base_fee", "size", "transaction_count", "log_count", "header",
)  # fmt: skip
_TRANSACTION = (
    "id", "hash", "block", "index", "type", "sender", "to", "nonce", "value", "gas",
    "max_fee_per_gas", "max_priority_fee_per_gas", "raw",
)  # fmt: skip
_RECEIPT = (
    "transaction", "succeeded", "gas_used", "cumulative_gas_used", "effective_gas_price",
    "contract_address", "first_log_index", "log_count",
)  # fmt: skip
_LOG = (
    "id", "block", "transaction", "index", "address", "topic0", "topic1", "topic2", "topic3", "data",
)  # fmt: skip
_CALL = (
    "id", "transaction", "index", "depth", "trace_address", "type", "creates", "sender", "to", "gas", "gas_used",
    "succeeded",
)  # fmt: skip
_ACCOUNT = ("address", "nonce", "balance", "code_hash")
_CHANGE = ("id", "address", "number", "nonce", "balance", "code_hash")
_BY_HAND = ("id", "number", "kind", "address", "old", "new", "wrote_history")
_SNAPSHOT = ("id", "number", "hash", "changes", "clock_offset", "pool")
_BLOB = (
    "id", "transaction_hash", "index", "versioned_hash", "version", "commitment", "proofs", "blob", "received_at",
)  # fmt: skip
_SIGNATURE = ("id", "number", "signature", "signer")
_WAITING = (
    "hash", "sender", "nonce", "gas", "max_fee_per_gas", "max_priority_fee_per_gas", "value",
    "size", "received_at", "raw", "blobs", "max_fee_per_blob_gas",
)  # fmt: skip

_Row = tuple[Any, ...]


def _write(model: Any, columns: tuple[str, ...], rows: Iterator[_Row]) -> None:
    while chunk := list(islice(rows, _CHUNK)):
        Database().insert(model, columns, chunk)


def _each(numbers: range, count: int, make: Callable[[int, int], _Row]) -> Iterator[_Row]:
    return (make(number, place) for number in numbers for place in range(count))


def _block(number: int) -> _Row:
    count = PER_BLOCK if number else 0
    gas_used = count * 50_000 + number % 97 * 100_000
    header = Header(
        parent_hash=block_hash(number - 1),
        coinbase=COINBASE,
        state_root=EMPTY_ROOT,
        transactions_root=EMPTY_ROOT,
        receipts_root=EMPTY_ROOT,
        logs_bloom=bytes(256),
        number=number,
        gas_limit=GAS_LIMIT,
        gas_used=gas_used,
        timestamp=GENESIS_TIME + 2 * number,
        base_fee=GWEI + number % 7 * 1_000_000,
    )
    return (
        number, block_hash(number), header.parent_hash, header.timestamp, header.state_root,
        COINBASE, GAS_LIMIT, gas_used, header.base_fee, 700 + 120 * count, count,
        LOGS_PER_BLOCK if number else 0, encode_header(header),
    )  # fmt: skip


def _by_hand(number: int) -> _Row:
    old, new = bytes(32), number.to_bytes(32, "big")
    return (models.row_id(number), number, number % 3, person(number), old, new, False)


def _impersonated(index: int) -> _Row:
    return (FIRST_IMPERSONATION + index, TOKEN if index == 1 else person(index))


def _signature(number: int) -> _Row:
    return (number, number, number.to_bytes(65, "big"), person(number))


def _fetched(number: int) -> _Row:
    """Return a fetched account: every third did not exist, and every third is a contract."""
    if number % 3 == 0:
        return (person(number), None, None, None)
    return (
        contract(number) if number % 3 == 1 else person(number), number, number * COIN,
        CODE_HASH if number % 3 == 1 else EMPTY_HASH,
    )  # fmt: skip


def _snapshot(number: int) -> _Row:
    return (number, number, block_hash(number), 1, 60, "[]")


def _blob(number: int) -> _Row:
    """Return a blob of a mined transaction; as rows they may be shorter than real ones."""
    return (
        number, transaction_hash(number, 0), 0, b"\x01" + block_hash(number)[1:], 0, bytes(48), bytes(48), bytes(64),
        GENESIS_TIME + number,
    )  # fmt: skip


@cache
def _envelope(*, calls: bool, creates: bool) -> bytes:
    if creates:
        return signed(to=None, data=CODE, gas=900_000).raw
    return signed(to=TOKEN, data=CALL, gas=90_000).raw if calls else signed().raw


def _calls(place: int) -> bool:
    return 3 <= place < 3 + LOGS_PER_BLOCK


def _recipient(number: int, place: int) -> Address | None:
    if place == CREATION:
        return None
    return TOKEN if _calls(place) else person(number + place + 1)


def _transaction(number: int, place: int) -> _Row:
    return (
        models.row_id(number, place), transaction_hash(number, place), number, place,
        LEGACY if place == 0 else DYNAMIC_FEE, sender_of(number, place), _recipient(number, place),
        number, place * COIN // 8 + 12_345, 90_000, 50 * GWEI, 2 * GWEI,
        _envelope(calls=_calls(place), creates=place == CREATION),
    )  # fmt: skip


def _receipt(number: int, place: int) -> _Row:
    logs_before = min(max(place - 3, 0), LOGS_PER_BLOCK)
    return (
        models.row_id(number, place), place != FAILED, 51_000, 51_000 * (place + 1),
        3 * GWEI, contract(number) if place == CREATION else None,
        logs_before, 1 if _calls(place) else 0,
    )  # fmt: skip


def _call(number: int, index: int) -> tuple[Any, ...]:
    key = models.row_id(number, index)
    kind = models.CallType.CREATE if index == 1 else models.CallType.CALL
    to = person(number + 1000) if index == 1 else TOKEN
    return (
        key,
        key,
        0,
        0,
        "",
        kind.value,
        index == 1,
        sender_of(number, index),
        to,
        50_000,
        20_000,
        True,
    )


def _log(number: int, index: int) -> _Row:
    place = index + 3
    known = index != LOGS_PER_BLOCK - 1
    return (
        models.row_id(number, index), number, models.row_id(number, place), index, TOKEN,
        TRANSFER if known else UNKNOWN_EVENT,
        Word(bytes(12) + sender_of(number, place)) if known else None,
        Word(bytes(12) + person(number)) if known else None, None, (number * COIN).to_bytes(32, "big"),
    )  # fmt: skip


def _accounts(blocks: int, idle: int) -> Iterator[_Row]:
    yield (COINBASE, 0, 5 * COIN, EMPTY_HASH)
    for index in range(PEOPLE):
        yield (person(index), blocks, 1_000 * COIN + index, EMPTY_HASH)
    for number in range(1, blocks + 1):
        yield (contract(number), 1, 0, CODE_HASH)
    for index in range(idle):
        yield (keccak256(b"idle %d" % index)[:20], 0, index * GWEI, EMPTY_HASH)


def _change(number: int, place: int) -> _Row:
    address = COINBASE if place else sender_of(number, 0)
    return (models.row_id(number, place), address, number, number, number * COIN, EMPTY_HASH)


def _slots() -> Iterator[_Row]:
    for index in range(60):
        yield (TOKEN + Word(index.to_bytes(32, "big")), Word((index + 1).to_bytes(32, "big")))


def _waiting(index: int, blocks: int) -> _Row:
    round_, sender = divmod(index, PEOPLE)
    nonce = blocks + round_ + sender % 2  # every other sender has a nonce gap
    raw = _envelope(calls=True, creates=False)
    return (
        waiting_hash(index), person(sender), nonce, 90_000, 50 * GWEI, 2 * GWEI, COIN, len(raw),
        GENESIS_TIME + index, raw, 0, 0,
    )  # fmt: skip
