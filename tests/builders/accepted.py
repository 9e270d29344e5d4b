"""Accepted blocks with chosen transactions and logs, without executing anything."""

from collections.abc import Sequence
from typing import Any

from cchain_app.blocks.accepted import AcceptedBlock, make_block
from cchain_app.blocks.header import EMPTY_REQUESTS_HASH, Header
from cchain_app.blocks.receipt import Receipt, bloom_of, bloom_to_bytes, merged_bloom
from cchain_app.config import BLACKHOLE
from cchain_app.evm.engine import Log
from cchain_app.txs.transaction import Transaction
from primitives.evm import ZERO_HASH, Address, Hash, Word
from primitives.hashing import EMPTY_ROOT, keccak256

EMITTER = Address(b"\xe1" * 20)
TOPIC = Word(b"\x01" * 32)
OTHER_TOPIC = Word(b"\x02" * 32)


def log(*topics: Word, address: Address = EMITTER, data: bytes = b"\x2a") -> Log:
    """Return a log with these topics."""
    return Log(address, topics, data)


def header(number: int = 1, **changes: Any) -> Header:
    """Return a Prague header with the changes."""
    values: dict[str, Any] = {
        "parent_hash": Hash(number.to_bytes(32, "big")),
        "coinbase": BLACKHOLE,
        "state_root": Hash(b"\x77" * 32),
        "transactions_root": EMPTY_ROOT,
        "receipts_root": EMPTY_ROOT,
        "logs_bloom": bytes(256),
        "number": number,
        "gas_limit": 30_000_000,
        "gas_used": 0,
        "timestamp": 1_700_000_000 + number,
        "base_fee": 10**9,
        "withdrawals_root": EMPTY_ROOT,
        "blob_gas_used": 0,
        "excess_blob_gas": 0,
        "parent_beacon_block_root": ZERO_HASH,
        "requests_hash": EMPTY_REQUESTS_HASH,
    }
    return Header(**{**values, **changes})


def accepted(
    number: int = 1,
    transactions: Sequence[Transaction] = (),
    logs: Sequence[Sequence[Log]] = (),
    *,
    failed: Sequence[int] = (),
    **changes: Any,
) -> AcceptedBlock:
    """Return a block; each transaction used 21000 gas and emitted the logs at its index."""
    emitted = [
        tuple(logs[index]) if index < len(logs) else () for index in range(len(transactions))
    ]
    receipts = tuple(
        Receipt(
            type=transaction.type,
            succeeded=index not in failed,
            cumulative_gas_used=21_000 * (index + 1),
            bloom=bloom_of(emitted[index]),
            logs=emitted[index],
        )
        for index, transaction in enumerate(transactions)
    )
    union = merged_bloom(receipt.bloom for receipt in receipts)
    values = {
        "logs_bloom": bloom_to_bytes(union),
        "gas_used": 21_000 * len(receipts),
        # There are no tries, but different contents give a different hash, as caches by hash expect.
        "transactions_root": keccak256(b"".join(item.hash for item in transactions)),
        "receipts_root": keccak256(repr(receipts).encode()),
        **changes,
    }
    return make_block(header(number, **values), tuple(transactions), receipts)
