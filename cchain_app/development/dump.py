"""The state of a chain in Anvil's format: JSON in a file, and gzip of that JSON over RPC (devnet.md 8). Pure."""

import gzip
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.development.errors import DevelopmentReason, InvalidDevelopmentRequest
from primitives import json_limits
from primitives.evm import Address, Slot, Word
from primitives.hexadecimal import encode_data, encode_quantity
from primitives.json_limits import FILE_VALUES, TooDeep, TooManyValues

MAX_BYTES: Final = 256 * 1024 * 1024
"""Limit of a dump's uncompressed size: a few bytes of gzip can expand to any size."""

ADDRESS_BYTES: Final = 20

_MAGIC: Final = b"\x1f\x8b"


class DumpedAccount(NamedTuple):
    """An account with its code and storage."""

    nonce: int
    balance: int
    """Wei."""
    code: bytes
    storage: Mapping[Slot, Word]


class _Document(msgspec.Struct):
    """The members of a dump that are read; all others are ignored."""

    accounts: dict[str, Raw] | None = None


class _Account(msgspec.Struct, gc=False):
    """An account in a dump; other members are ignored."""

    nonce: int | str = 0
    balance: int | str = 0
    code: str | None = None
    storage: dict[str, int | str] | None = None


_encode: Final = msgspec.json.Encoder().encode
_documents: Final = msgspec.json.Decoder(_Document)
_accounts: Final = msgspec.json.Decoder(_Account)


def document_of(
    head: AcceptedBlock, blob_price: int, accounts: Iterable[tuple[Address, DumpedAccount]]
) -> bytes:
    """Return a dump of a state as JSON.

    Unspecified: the dump contains the head's environment but no blocks, because blocks stay in their data directory.
    Therefore the best block number is 0: Anvil looks that block up among the blocks, and loads nothing if it is
    missing.

    Args:
        head: The chain's head.
        blob_price: The price of blob gas in it, in wei.
        accounts: The chain's accounts.
    """
    header = head.header
    document = {
        "block": {
            "number": encode_quantity(header.number),
            "beneficiary": encode_data(header.coinbase),
            "timestamp": encode_quantity(header.timestamp),
            "gas_limit": header.gas_limit,
            "basefee": header.base_fee or 0,
            "difficulty": encode_quantity(header.difficulty),
            "prevrandao": encode_data(header.mix_hash),
            "blob_excess_gas_and_price": {
                "excess_blob_gas": header.excess_blob_gas or 0,
                "blob_gasprice": blob_price,
            },
        },
    }
    rest = {"best_block_number": 0, "blocks": [], "transactions": [], "historical_states": None}
    # Account by account: one call for all accounts would block all other threads meanwhile.
    written = b",".join(
        b'"%b":%b' % (encode_data(address).encode(), _encode(_written(account)))
        for address, account in accounts
    )
    return b'%b,"accounts":{%b},%b' % (_encode(document)[:-1], written, _encode(rest)[1:])


def packed(document: bytes) -> bytes:
    """Return a dump compressed, as it is sent over RPC."""
    return gzip.compress(document, mtime=0)


def _written(account: DumpedAccount) -> dict[str, Any]:
    return {
        "nonce": account.nonce,
        "balance": encode_quantity(account.balance),
        "code": encode_data(account.code),
        "storage": {encode_data(slot): encode_data(word) for slot, word in account.storage.items()},
    }


def unpack(raw: bytes) -> dict[Address, DumpedAccount]:
    """Return the accounts of a dump, which is gzip or plain JSON; all other members are optional.

    Raises:
        InvalidDevelopmentRequest: It is neither gzip nor JSON, it is too large, or one of its accounts is malformed.
    """
    text = _unzipped(raw)
    try:
        json_limits.verify(text, values=FILE_VALUES)
        accounts = _documents.decode(text).accounts
    except TooManyValues as error:
        raise _not_readable(f"it has more than {FILE_VALUES} values") from error
    except TooDeep as error:
        raise _not_readable(f"it is nested deeper than {json_limits.MAX_DEPTH}") from error
    except msgspec.ValidationError as error:
        raise _not_readable("it has no accounts") from error
    except (ValueError, RecursionError) as error:
        raise _not_readable("it is neither gzip nor JSON") from error
    if accounts is None:
        raise _not_readable("it has no accounts")
    return dict(_account(name, members) for name, members in accounts.items())


def _not_readable(problem: str) -> InvalidDevelopmentRequest:
    return InvalidDevelopmentRequest(DevelopmentReason.DUMP_NOT_READABLE, problem=problem)


def _unzipped(raw: bytes) -> bytes:
    if raw[:2] != _MAGIC:
        return raw
    reader = zlib.decompressobj(wbits=31)
    try:
        text = reader.decompress(raw, MAX_BYTES)
    except zlib.error as error:
        raise _not_readable("it is damaged gzip") from error
    if reader.unconsumed_tail:
        raise _not_readable(f"it has more than {MAX_BYTES} bytes")
    return text


def _account(name: str, members: Raw) -> tuple[Address, DumpedAccount]:
    try:
        address = Address(_bytes(name))
        if len(address) != ADDRESS_BYTES:
            raise ValueError(name)  # noqa: TRY301  # reported like all other unreadable values
        account = _accounts.decode(members)
        return address, DumpedAccount(
            _number(account.nonce, 64),
            _number(account.balance, 256),
            _bytes(account.code or "0x"),
            {
                _word(slot, Slot): _word(word, Word)
                for slot, word in (account.storage or {}).items()
            },
        )
    except (ValueError, msgspec.DecodeError) as error:
        raise _not_readable(f"account {name[:80]} cannot be read") from error


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def _number(value: int | str, bits: int) -> int:
    number = int(value, 16 if value[:2] == "0x" else 10) if isinstance(value, str) else value
    if not 0 <= number < 1 << bits:
        raise ValueError(value)
    return number


def _word(text: Any, kind: Any) -> Any:
    return kind(_number(text, 256).to_bytes(32, "big"))
