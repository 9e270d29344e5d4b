"""Writes and reads complete blocks with their transactions, receipts and logs."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from django.db.models.functions import Coalesce

from cchain_app import models
from cchain_app.blocks.accepted import (
    AcceptedBlock,
    decode_ommers,
    decode_withdrawals,
    encode_ommers,
    encode_withdrawals,
)
from cchain_app.blocks.receipt import Receipt, bloom_of
from cchain_app.evm.engine import ExecutedBlock, Log, StateChanges
from cchain_app.evm.trie import TrieUpdate
from cchain_app.feemarket import paid_tips
from cchain_app.precompiles.fee_config import MAX_GAS_LIMIT
from cchain_app.processing import VerifiedBlock
from cchain_app.rules.coreth.header import is_header_of_coreth
from cchain_app.rules.port import BlockFormat
from cchain_app.store import coreth, forked, history, state, trie_history, warp
from cchain_app.txs.codec import decode_stored
from cchain_app.txs.transaction import Transaction
from chaindb.database import Database, Row, Rows, SqlQuery
from primitives import rlp
from primitives.evm import Address, Hash, Word

T = TypeVar("T")

_BLOCK = (
    "number", "hash", "parent_hash", "timestamp", "state_root", "miner", "gas_limit", "gas_used",
    "base_fee", "size", "transaction_count", "log_count", "header", "ommers",
    "withdrawals", "payload", "blob_gas_used", "excess_blob_gas", "tips",
)  # fmt: skip
_TRANSACTION = (
    "id", "hash", "block", "index", "type", "sender", "to", "nonce", "value", "gas",
    "max_fee_per_gas", "max_priority_fee_per_gas", "raw",
)  # fmt: skip
_RECEIPT = (
    "transaction", "succeeded", "state_root", "gas_used", "cumulative_gas_used", "effective_gas_price",
    "contract_address", "first_log_index", "log_count",
)  # fmt: skip
_LOG = (
    "id", "block", "transaction", "index", "address", "topic0", "topic1", "topic2", "topic3", "data",
)  # fmt: skip

HEAD_ROW: Final = """
SELECT number, hash, coalesce((SELECT number FROM chaindb_generation), 0),
  (SELECT chain_id FROM cchain_app_chain){more}
FROM cchain_app_block ORDER BY number DESC LIMIT 1
"""

HEAD_ID_QUERY: Final[SqlQuery] = (
    "SELECT number, hash FROM cchain_app_block ORDER BY number DESC LIMIT 1",
    (),
)
_BLOCKS = """
SELECT number, hash, header, ommers, withdrawals, size, payload FROM cchain_app_block
WHERE number >= %s AND number <= %s ORDER BY number
"""
_FEES: Final = """
SELECT number, timestamp, base_fee, gas_used, gas_limit, tips, excess_blob_gas, blob_gas_used
FROM cchain_app_block WHERE number >= %s AND number <= %s ORDER BY number
"""
# Both tables have bounds: PostgreSQL would otherwise read all receipts as long as it has no statistics.
_SENT = """
SELECT sent.id, sent.type, sent.hash, sent.sender, sent.raw,
       receipt.succeeded, receipt.state_root, receipt.cumulative_gas_used
FROM cchain_app_transaction AS sent
JOIN cchain_app_receipt AS receipt ON receipt.transaction_id = sent.id
WHERE sent.id >= %s AND sent.id < %s
  AND receipt.transaction_id >= %s AND receipt.transaction_id < %s ORDER BY sent.id
"""
_LOGS = """
SELECT transaction_id, address, topic0, topic1, topic2, topic3, data FROM cchain_app_log
WHERE id >= %s AND id < %s ORDER BY id
"""


class HeadRow(NamedTuple):
    """The last block, and other values that identify the version of the rows."""

    number: int
    """Height of the head."""
    hash: Hash
    generation: int
    """Number of times that the rows were rewound (`chaindb.generation`)."""
    chain_id: int | None
    """As `chain_id` returns it."""


def head_id(db: Database) -> tuple[int, Hash] | None:
    """Return height and hash of the last block, or None if there is no genesis block."""
    row = db.row(*HEAD_ID_QUERY)
    return None if row is None else (row[0], Hash(bytes(row[1])))


def first_block(db: Database) -> tuple[Hash, int] | None:
    """Return hash and time (Unix seconds) of the lowest block, or None if it, or the table, does not exist yet."""
    if not db.has_table("cchain_app_block"):
        return None
    row = db.row("SELECT hash, timestamp FROM cchain_app_block ORDER BY number LIMIT 1")
    return None if row is None else (Hash(bytes(row[0])), int(row[1]))


def is_of_coreth(db: Database) -> bool:
    """Return whether the chain's blocks are coreth's: by the header of block 0."""
    row = db.row("SELECT header FROM cchain_app_block WHERE number = 0")
    return row is not None and is_header_of_coreth(bytes(row[0]))


def head_row(db: Database) -> HeadRow | None:
    """Return a consistent read of head, generation and chain ID, or None if there is no genesis block."""
    row = db.row(HEAD_ROW.format(more=""))
    return None if row is None else read_head(row)


def read_head(row: Sequence[Any]) -> HeadRow:
    """Parse the row that `HEAD_ROW` selects."""
    number, block_hash, generation, chain_id = row
    return HeadRow(number, Hash(bytes(block_hash)), int(generation), chain_id)


def head_number(db: Database) -> int | None:
    """Return the height of the chain, or None if there is no genesis block."""
    found = head_id(db)
    return None if found is None else found[0]


def commit(db: Database, made: Sequence[VerifiedBlock], *, keeps_tries: bool) -> None:
    """Write consecutive blocks and all of their changes, with a few statements for all of them.

    The caller holds the lock and the transaction.

    Args:
        db: The chain's database.
        made: The blocks with their changes.
        keeps_tries: Whether the tries of their parents stay readable (`trie_history`).
    """
    blocks = [verified.block for verified in made]
    db.insert(models.Block, _BLOCK, map(_block_row, blocks))
    db.insert(models.Transaction, _TRANSACTION, _of_each(_transaction_rows, blocks))
    receipts = (_receipt_rows(verified.block, verified.executed) for verified in made)
    db.insert(models.Receipt, _RECEIPT, itertools.chain.from_iterable(receipts))
    db.insert(models.Log, _LOG, _of_each(_log_rows, blocks))
    changes = [(verified.block.number, verified.executed.changes) for verified in made]
    tries = [verified.trie for verified in made]
    state.write_changes(db, changes)
    if keeps_tries:
        state.write_nodes_with_history(db, changes, tries)
    else:
        trie_history.forget_all(db)
        state.write_nodes(db, tries)
    for verified in made:
        if verified.leaves:
            forked.add_leaves(db, verified.block.number, verified.leaves)


def commit_state(
    db: Database, changes: Sequence[tuple[int, StateChanges]], tries: Sequence[TrieUpdate]
) -> None:
    """Write changes: the current state, its history, and the trie's nodes, but not the trie's history."""
    state.write_changes(db, changes)
    state.write_nodes(db, tries)


def chain_id(db: Database) -> int | None:
    """Return the current chain ID, or None if the genesis block, or the table, does not exist yet."""
    if not db.has_table("cchain_app_chain"):
        return None
    row = db.row("SELECT chain_id FROM cchain_app_chain")
    return None if row is None else int(row[0])


def first_chain_id(db: Database) -> int | None:
    """Return the chain ID with which the database was created, or None before its genesis block."""
    row = db.row("SELECT coalesce(first_chain_id, chain_id) FROM cchain_app_chain")
    return None if row is None else int(row[0])


def set_chain_id(db: Database, chain_id: int) -> None:
    """Write another chain ID; the initial one is kept too."""
    first = Coalesce("first_chain_id", "chain_id")
    db.objects(models.Chain).update(first_chain_id=first, chain_id=chain_id)


def restore_first_chain_id(db: Database) -> None:
    """Restore the chain ID with which the database was created."""
    first = Coalesce("first_chain_id", "chain_id")
    db.objects(models.Chain).update(chain_id=first, first_chain_id=None)


def genesis_hash(db: Database) -> Hash | None:
    """Return the hash of the genesis block with which the database was created, or None before that."""
    row = db.row("SELECT genesis_hash FROM cchain_app_chain")
    return None if row is None else Hash(bytes(row[0]))


def makes_blocks(db: Database) -> bool:
    """Return whether this node makes blocks on the chain, which is not so on an imported one."""
    row = db.row("SELECT makes_blocks FROM cchain_app_chain")
    return row is None or bool(row[0])


def set_makes_blocks(db: Database, *, makes: bool) -> None:
    """Write whether this node makes blocks on the chain from its next start on."""
    db.objects(models.Chain).update(makes_blocks=makes)


def begin(
    db: Database, genesis: AcceptedBlock, chain_id: int, *, makes_blocks: bool = True
) -> None:
    """Write the genesis block, and the row of its chain."""
    db.objects(models.Chain).create(
        genesis_hash=genesis.hash, chain_id=chain_id, makes_blocks=makes_blocks
    )
    db.insert(models.Block, _BLOCK, [_block_row(genesis)])


_FORGET_FROM: Final = tuple(
    f"DELETE FROM cchain_app_{table} WHERE {key} >= %s"  # noqa: S608  # names of this module's own
    for table, key in (
        ("call", "id"), ("log", "id"), ("receipt", "transaction_id"), ("transaction", "id"),
        ("accountchange", "id"), ("storagechange", "id"),
    )
)  # fmt: skip
"""Ordered so that no remaining row refers to a deleted one."""
# Updates the only row unconditionally, which locks it: no other process writes calls until this is committed.
_NO_CALLS_FROM: Final = """
UPDATE cchain_app_callprogress
SET next_call = CASE WHEN next_call > %s THEN %s ELSE next_call END
"""


def forget_above(db: Database, number: int) -> None:
    """Delete all blocks above a height with their contents, the history of their changes, and their calls.

    The caller rewinds the state. Code stays, because a hash always identifies the same code.
    """
    first = models.row_id(number + 1)
    db.execute(_NO_CALLS_FROM, (first, first))
    history.keep_calls_above(db, number)
    for statement in _FORGET_FROM:
        db.execute(statement, (first,))
    warp.forget_above(db, number)
    coreth.forget_above(db, number)
    trie_history.forget_above(db, number)
    db.execute("DELETE FROM cchain_app_block WHERE number > %s", (number,))


def load_block(db: Database, number: int, block_format: BlockFormat) -> AcceptedBlock:
    """Return an accepted block with its contents.

    Raises:
        Block.DoesNotExist: There is no block at this height.
    """
    blocks = load_blocks(db, number, number, block_format)
    if not blocks:
        raise models.Block.DoesNotExist(f"no block {number}")
    return blocks[0]


def load_blocks(
    db: Database, first: int, last: int, block_format: BlockFormat
) -> list[AcceptedBlock]:
    """Return the accepted blocks from height `first` to `last` with their contents, read together."""
    return read_blocks(db.answers(block_queries(first, last)), block_format)


def time_of(db: Database, number: int) -> int:
    """Return the time of an accepted block in Unix seconds.

    Raises:
        Block.DoesNotExist: There is no block at this height.
    """
    return int(db.objects(models.Block).values_list("timestamp", flat=True).get(number=number))


def state_root_of(db: Database, number: int) -> Hash:
    """Return the state root of an accepted block.

    Raises:
        Block.DoesNotExist: There is no block at this height.
    """
    row = db.row("SELECT state_root FROM cchain_app_block WHERE number = %s", (number,))
    if row is None:
        raise models.Block.DoesNotExist(f"no block {number}")
    return Hash(bytes(row[0]))


def header_of(db: Database, number: int) -> tuple[Hash, bytes] | None:
    """Return hash and RLP-encoded header of an accepted block, or None if it does not exist."""
    row = db.row("SELECT hash, header FROM cchain_app_block WHERE number = %s", (number,))
    return None if row is None else (Hash(bytes(row[0])), bytes(row[1]))


def fee_rows(db: Database, first: int, last: int) -> Rows:
    """Return the columns of a range of blocks from which a fee history is made, in the order of `_FEES`; tips as JSON."""
    return db.rows(_FEES, (first, last))


def height_of_hash(db: Database, block_hash: Hash) -> int | None:
    """Return the height of the accepted block with a hash, or None if it does not exist."""
    row = db.row("SELECT number FROM cchain_app_block WHERE hash = %s", (block_hash,))
    return None if row is None else int(row[0])


def block_queries(first: int, last: int) -> list[SqlQuery]:
    """Return the queries for the complete blocks from height `first` to `last`; see `read_blocks`."""
    keys = (models.row_id(first), models.row_id(last + 1))
    return [(_BLOCKS, (first, last)), (_SENT, keys * 2), (_LOGS, keys)]


def read_blocks(answers: Sequence[Rows], block_format: BlockFormat) -> list[AcceptedBlock]:
    """Return the blocks from the results of `block_queries`, in order."""
    blocks, sent, logs = answers
    sent_by_block = _grouped(map(_Sent._make, sent), lambda one: models.height_of(one.id))
    logs_by_transaction = _grouped(logs, lambda row: int(row[0]))
    return [
        _loaded(row, sent_by_block.get(row[0], ()), logs_by_transaction, block_format)
        for row in blocks
    ]


class _Sent(NamedTuple):
    """A transaction with its receipt, in the order of `_SENT`."""

    id: int
    type: int
    hash: bytes
    sender: bytes
    raw: bytes
    succeeded: bool
    state_root: bytes | None
    cumulative_gas_used: int


def _loaded(
    row: tuple[Any, ...],
    sent: Sequence[_Sent],
    logs: Mapping[int, Sequence[tuple[Any, ...]]],
    block_format: BlockFormat,
) -> AcceptedBlock:
    _, block_hash, header, ommers, withdrawals, size, payload = row
    transactions = tuple(
        decode_stored(bytes(tx.raw), Hash(bytes(tx.hash)), Address(bytes(tx.sender))) for tx in sent
    )
    return AcceptedBlock(
        header=block_format.decode_header(bytes(header)),
        hash=Hash(bytes(block_hash)),
        size=size,
        transactions=transactions,
        receipts=tuple(_receipt(item, tuple(map(_log, logs.get(item.id, ())))) for item in sent),
        ommers=() if ommers is None else decode_ommers(_payload(ommers)),
        withdrawals=() if withdrawals is None else decode_withdrawals(_payload(withdrawals)),
        payload=None if payload is None else bytes(payload),
    )


def _grouped(rows: Iterable[T], key: Callable[[T], int]) -> dict[int, tuple[T, ...]]:
    """Group rows, which are already ordered, by key."""
    return {value: tuple(group) for value, group in itertools.groupby(rows, key)}


def _payload(encoded: bytes) -> bytes:
    return rlp.read_only_item(bytes(encoded))


def _receipt(sent: _Sent, logs: tuple[Log, ...]) -> Receipt:
    return Receipt(
        type=sent.type,
        succeeded=bool(sent.succeeded),
        cumulative_gas_used=sent.cumulative_gas_used,
        bloom=bloom_of(logs),
        logs=logs,
        state_root=None if sent.state_root is None else Hash(bytes(sent.state_root)),
    )


def _log(row: tuple[Any, ...]) -> Log:
    _, address, *topics, data = row
    return Log(
        Address(bytes(address)),
        tuple(Word(bytes(topic)) for topic in topics if topic is not None),
        bytes(data),
    )


def _of_each(
    rows: Callable[[AcceptedBlock], Iterable[Row]], blocks: Iterable[AcceptedBlock]
) -> Iterator[Row]:
    return itertools.chain.from_iterable(map(rows, blocks))


def _block_row(block: AcceptedBlock) -> Row:
    """Return a block's row. Its gas limit is that of the header, but at most 63 bits, for which a column has room."""
    header = block.header
    return (
        header.number, block.hash, header.parent_hash, header.timestamp, header.state_root,
        header.coinbase, min(header.gas_limit, MAX_GAS_LIMIT), header.gas_used, header.base_fee,
        block.size,
        len(block.transactions), sum(len(receipt.logs) for receipt in block.receipts),
        header.raw,
        encode_ommers(block.ommers) if block.ommers else None,
        encode_withdrawals(block.withdrawals) if block.withdrawals else None,
        block.payload, header.blob_gas_used, header.excess_blob_gas,
        json.dumps(paid_tips(block)) if block.transactions else None,
    )  # fmt: skip


def _transaction_rows(block: AcceptedBlock) -> Iterator[Row]:
    for index, tx in enumerate(block.transactions):
        yield (
            models.row_id(block.number, index), tx.hash, block.number, index, tx.type, tx.sender,
            tx.to, tx.nonce, tx.value, tx.gas, tx.max_fee_per_gas, tx.max_priority_fee_per_gas,
            tx.raw,
        )  # fmt: skip


def _receipt_rows(block: AcceptedBlock, executed: ExecutedBlock) -> Iterator[Row]:
    first_log = 0
    for index, (tx, receipt, result) in enumerate(
        zip(block.transactions, block.receipts, executed.results, strict=True)
    ):
        yield (
            models.row_id(block.number, index), receipt.succeeded, receipt.state_root, result.gas_used,
            receipt.cumulative_gas_used, _price(tx, block), result.contract_address,
            first_log, len(receipt.logs),
        )  # fmt: skip
        first_log += len(receipt.logs)


def _price(transaction: Transaction, block: AcceptedBlock) -> int:
    return transaction.effective_gas_price(block.header.base_fee or 0)


_NO_TOPICS: Final = (None, None, None, None)
"""Values for the topics that a log does not have."""


def _log_rows(block: AcceptedBlock) -> Iterator[Row]:
    first_row, first = (
        models.row_id(block.number),
        0,
    )  # a row's key is `first_row` plus the log's index
    for index, receipt in enumerate(block.receipts):
        transaction = models.row_id(block.number, index)
        yield from [
            (
                first_row + position, block.number, transaction, position, address, *topics,
                *_NO_TOPICS[len(topics) :], data,
            )
            for position, (address, topics, data) in enumerate(receipt.logs, first)
        ]  # fmt: skip
        first += len(receipt.logs)
