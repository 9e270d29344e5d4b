"""The fields of each transaction type, in order, and the decoder of each from RLP.

Nesting follows the layouts, never the input, so the layouts bound its depth. Field and type names are
go-ethereum's, since they occur in its messages ("rlp: input string too long for common.Address, decoding into
(types.LegacyTx).To"). `codec` interprets the values.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from cchain_app.txs.transaction import (
    ACCESS_LIST,
    BLOB,
    DYNAMIC_FEE,
    LEGACY,
    SET_CODE,
    Authorization,
)
from primitives import rlp
from primitives.evm import Address, Hash, Slot

Element = TypeVar("Element")


class LayoutField(NamedTuple):
    """One field: its name, its type in messages, and its decoder."""

    name: str
    type_name: str
    read: Callable[[bytes], Any]


class ListLayout(NamedTuple):
    """A list of fixed length: its name in messages, and its fields."""

    type_name: str
    fields: tuple[LayoutField, ...]


class FieldError(Exception):
    """A field that cannot be decoded: the `RlpError` is the cause, the message says where."""

    def __init__(self, cause: rlp.RlpError, type_name: str, path: str) -> None:
        super().__init__(cause.reason)
        self.cause = cause
        self.type_name = type_name
        """Type of the value that could not be decoded."""
        self.path = path
        """Path from the transaction to the value: ".AccessList[0].Address"; empty for the whole transaction."""


def read_fields(payload: bytes, layout: ListLayout) -> list[Any]:
    """Decode the fields of a layout from a list's payload.

    Raises:
        FieldError: A field is missing, superfluous or malformed.
    """
    fields = layout.fields
    values: list[Any] = []
    try:
        for field, item in zip(fields, rlp.split(payload, len(fields)), strict=True):
            values.append(field.read(item))
    except rlp.RlpError as error:
        raise _locate(error, layout, len(values)) from error
    except FieldError as error:
        error.path = f".{fields[len(values)].name}{error.path}"
        raise
    return values


def _locate(error: rlp.RlpError, layout: ListLayout, read: int) -> FieldError:
    if error.reason in {rlp.RlpReason.TOO_FEW_ELEMENTS, rlp.RlpReason.TOO_MANY_ELEMENTS}:
        return FieldError(error, layout.type_name, "")
    field = layout.fields[read if error.index is None else error.index]
    return FieldError(error, field.type_name, f".{field.name}")


def read_struct(item: bytes, layout: ListLayout) -> list[Any]:
    """Decode a list with the fields of a layout. Raises as `read_fields`."""
    if type(item) is not rlp.RlpList:
        raise FieldError(rlp.RlpError(rlp.RlpReason.EXPECTED_LIST), layout.type_name, "")
    return read_fields(item, layout)


def read_list(
    item: bytes, read: Callable[[bytes], Element], types: tuple[str, str]
) -> tuple[Element, ...]:
    """Decode a list of any length; types are the names of the list and of its elements.

    Raises:
        FieldError: It is not a list, or one of its elements is malformed.
    """
    if type(item) is not rlp.RlpList:
        raise FieldError(rlp.RlpError(rlp.RlpReason.EXPECTED_LIST), types[0], "")
    values: list[Element] = []
    try:
        # values decoded before an error are kept, so their number gives the index
        values.extend(map(read, rlp.iterate(item)))
    except rlp.RlpError as error:
        raise FieldError(error, types[1], f"[{len(values)}]") from error
    except FieldError as error:
        error.path = f"[{len(values)}]{error.path}"
        raise
    return tuple(values)


def _read_address(item: bytes) -> Address:
    return Address(rlp.read_fixed(item, 20))


def _read_recipient(item: bytes) -> Address | None:
    return Address(rlp.read_fixed(item, 20)) if item or type(item) is rlp.RlpList else None


def _read_slot(item: bytes) -> Slot:
    return Slot(rlp.read_fixed(item, 32))


def _read_slots(item: bytes) -> tuple[Slot, ...]:
    return read_list(item, _read_slot, ("[]common.Hash", "common.Hash"))


def _read_access(item: bytes) -> tuple[Address, tuple[Slot, ...]]:
    address, slots = read_struct(item, _ACCESS_TUPLE)
    return address, slots


def _read_access_list(item: bytes) -> tuple[tuple[Address, tuple[Slot, ...]], ...]:
    if item == b"" and type(item) is rlp.RlpList:
        return ()
    return read_list(item, _read_access, ("types.AccessList", "types.AccessTuple"))


def _read_authorization(item: bytes) -> Authorization:
    return Authorization(*read_struct(item, _AUTHORIZATION))


def _read_authorizations(item: bytes) -> tuple[Authorization, ...]:
    names = ("[]types.SetCodeAuthorization", "types.SetCodeAuthorization")
    return read_list(item, _read_authorization, names)


def _read_hash(item: bytes) -> Hash:
    return Hash(rlp.read_fixed(item, 32))


def _read_hashes(item: bytes) -> tuple[Hash, ...]:
    return read_list(item, _read_hash, ("[]common.Hash", "common.Hash"))


def _uint64(name: str) -> LayoutField:
    return LayoutField(name, "uint64", rlp.read_uint64)


def _integer(name: str) -> LayoutField:
    return LayoutField(name, "*big.Int", rlp.read_uint256)


def _uint256(name: str) -> LayoutField:
    return LayoutField(name, "*uint256.Int", rlp.read_uint256)


_TO = LayoutField("To", "common.Address", _read_recipient)
_DATA = LayoutField("Data", "[]uint8", rlp.read_bytes)
_ACCESS_LIST = LayoutField("AccessList", "types.AccessList", _read_access_list)
_SIGNATURE = (_integer("V"), _integer("R"), _integer("S"))

_ACCESS_TUPLE = ListLayout(
    "types.AccessTuple",
    (
        LayoutField("Address", "common.Address", _read_address),
        LayoutField("StorageKeys", "[]common.Hash", _read_slots),
    ),
)
_AUTHORIZATION = ListLayout(
    "types.SetCodeAuthorization",
    (
        LayoutField("ChainID", "uint256.Int", rlp.read_uint256),
        LayoutField("Address", "common.Address", _read_address),
        _uint64("Nonce"),
        LayoutField("V", "uint8", rlp.read_uint8),
        LayoutField("R", "uint256.Int", rlp.read_uint256),
        LayoutField("S", "uint256.Int", rlp.read_uint256),
    ),
)

LAYOUTS = {
    LEGACY: ListLayout(
        "types.LegacyTx",
        (
            _uint64("Nonce"),
            _integer("GasPrice"),
            _uint64("Gas"),
            _TO,
            _integer("Value"),
            _DATA,
            *_SIGNATURE,
        ),
    ),
    ACCESS_LIST: ListLayout(
        "types.AccessListTx",
        (
            _integer("ChainID"),
            _uint64("Nonce"),
            _integer("GasPrice"),
            _uint64("Gas"),
            _TO,
            _integer("Value"),
            _DATA,
            _ACCESS_LIST,
            *_SIGNATURE,
        ),
    ),
    DYNAMIC_FEE: ListLayout(
        "types.DynamicFeeTx",
        (
            _integer("ChainID"),
            _uint64("Nonce"),
            _integer("GasTipCap"),
            _integer("GasFeeCap"),
            _uint64("Gas"),
            _TO,
            _integer("Value"),
            _DATA,
            _ACCESS_LIST,
            *_SIGNATURE,
        ),
    ),
    BLOB: ListLayout(
        "types.BlobTx",
        (
            _uint256("ChainID"),
            _uint64("Nonce"),
            _uint256("GasTipCap"),
            _uint256("GasFeeCap"),
            _uint64("Gas"),
            LayoutField("To", "common.Address", _read_address),
            _uint256("Value"),
            _DATA,
            _ACCESS_LIST,
            _uint256("BlobFeeCap"),
            LayoutField("BlobHashes", "[]common.Hash", _read_hashes),
            _uint256("V"),
            _uint256("R"),
            _uint256("S"),
        ),
    ),
    SET_CODE: ListLayout(
        "types.SetCodeTx",
        (
            _uint256("ChainID"),
            _uint64("Nonce"),
            _uint256("GasTipCap"),
            _uint256("GasFeeCap"),
            _uint64("Gas"),
            LayoutField("To", "common.Address", _read_address),
            _uint256("Value"),
            _DATA,
            _ACCESS_LIST,
            LayoutField("AuthList", "[]types.SetCodeAuthorization", _read_authorizations),
            _uint256("V"),
            _uint256("R"),
            _uint256("S"),
        ),
    ),
}
"""Layout by transaction type."""
