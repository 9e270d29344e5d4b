"""The state of a chain as Anvil writes it: JSON in a file, gzip of that over RPC (devnet.md 8). Pure."""

import gzip
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from cchain_app.blocks.header import Header
from cchain_app.development.errors import DumpNotReadable
from primitives.evm import Address, Slot, Word
from primitives.hexadecimal import encode_data, encode_quantity

MOST_BYTES: Final = 256 * 1024 * 1024
"""Of a dump that is read, unpacked: a few bytes of gzip can stand for any number."""

MOST_VALUES: Final = 4_000_000
"""Of a dump that is read, slots among them: nobody else runs while they are decoded."""

ADDRESS_BYTES: Final = 20

_PIECE: Final = 1024 * 1024
"""Bytes that are counted before others may go on."""

_MAGIC: Final = b"\x1f\x8b"


class DumpedAccount(NamedTuple):
    """An account with all that belongs to it."""

    nonce: int
    balance: int
    """Wei."""
    code: bytes
    storage: Mapping[Slot, Word]


class _Document(msgspec.Struct):
    """What is read of a dump; everything else is passed over."""

    accounts: dict[str, Any] | None = None


_documents: Final = msgspec.json.Decoder(_Document)


def document_of(head: Header, accounts: Iterable[tuple[Address, DumpedAccount]]) -> bytes:
    """Return a dump of a state as JSON.

    Unspecified: of the chain it has the head's environment and no blocks: those stay with their data directory. So the best
    block is the first one: Anvil looks it up among the blocks, and loads nothing where it is not there.

    Args:
        head: Of the chain.
        accounts: Its accounts.
    """
    document = {
        "block": {
            "number": encode_quantity(head.number),
            "beneficiary": encode_data(head.coinbase),
            "timestamp": encode_quantity(head.timestamp),
            "gas_limit": head.gas_limit,
            "basefee": head.base_fee or 0,
            "difficulty": encode_quantity(head.difficulty),
            "prevrandao": encode_data(head.mix_hash),
            "blob_excess_gas_and_price": {
                "excess_blob_gas": head.excess_blob_gas or 0,
                "blob_gasprice": 1,
            },
        },
        "accounts": {encode_data(address): _written(account) for address, account in accounts},
        "best_block_number": 0,
        "blocks": [],
        "transactions": [],
        "historical_states": None,
    }
    return json.dumps(document, separators=(",", ":")).encode()


def packed(document: bytes) -> bytes:
    """Return a dump as it is sent."""
    return gzip.compress(document, mtime=0)


def _written(account: DumpedAccount) -> dict[str, Any]:
    return {
        "nonce": account.nonce,
        "balance": encode_quantity(account.balance),
        "code": encode_data(account.code),
        "storage": {encode_data(slot): encode_data(word) for slot, word in account.storage.items()},
    }


def unpack(raw: bytes) -> dict[Address, DumpedAccount]:
    """Return the accounts of a dump: gzip or plain JSON; everything else in it may be missing.

    Raises:
        DumpNotReadable: It is neither, it is too large, or an account in it cannot be read.
    """
    text = _unzipped(raw)
    if _has_more(text, MOST_VALUES):
        raise DumpNotReadable(f"it has more than {MOST_VALUES} values")
    try:
        accounts = _documents.decode(text).accounts
    except msgspec.ValidationError as error:
        raise DumpNotReadable("it has no accounts") from error
    except (ValueError, RecursionError) as error:
        raise DumpNotReadable("it is neither gzip nor JSON") from error
    if accounts is None:
        raise DumpNotReadable("it has no accounts")
    return dict(_account(name, members) for name, members in accounts.items())


def _has_more(text: bytes, values: int) -> bool:
    """Return whether a JSON text has more values than so many: all but the first of each level are behind a comma."""
    found = 0
    for start in range(0, len(text), _PIECE):
        found += text.count(b",", start, start + _PIECE)
        if found > values:
            return True
    return False


def _unzipped(raw: bytes) -> bytes:
    if raw[:2] != _MAGIC:
        return raw
    reader = zlib.decompressobj(wbits=31)
    try:
        found = reader.decompress(raw, MOST_BYTES)
    except zlib.error as error:
        raise DumpNotReadable("it is damaged gzip") from error
    if reader.unconsumed_tail:
        raise DumpNotReadable(f"it has more than {MOST_BYTES} bytes")
    return found


def _account(name: str, members: Any) -> tuple[Address, DumpedAccount]:
    try:
        address = Address(_bytes(name))
        if len(address) != ADDRESS_BYTES:
            raise ValueError(name)  # noqa: TRY301  # told as all that cannot be read
        storage = members.get("storage") or {}
        return address, DumpedAccount(
            _number(members.get("nonce", 0), 64),
            _number(members.get("balance", 0), 256),
            _bytes(members.get("code") or "0x"),
            {_word(slot, Slot): _word(value, Word) for slot, value in storage.items()},
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise DumpNotReadable(f"account {name[:80]} cannot be read") from error


def _bytes(text: Any) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def _number(value: Any, bits: int) -> int:
    found = int(value, 16 if value[:2] == "0x" else 10) if isinstance(value, str) else int(value)
    if not 0 <= found < 1 << bits:
        raise ValueError(value)
    return found


def _word(text: Any, kind: Any) -> Any:
    return kind(_number(text, 256).to_bytes(32, "big"))
