"""Parsers of the arguments of methods that read ranges of state: plain numbers of Go's types, and slots by account."""

from typing import Any, Final

from cchain_app.api.params.values import address as parse_address
from cchain_app.api.params.values import cannot_unmarshal, hash32, kind_of, list_of
from jsonrpc.errors import InvalidParam
from primitives.evm import Address, Hash

_BIGGEST_INT: Final = 2**63 - 1
_BIGGEST_UINT64: Final = 2**64 - 1


def plain_uint64(value: Any) -> int:
    """Read a JSON number of at most 64 bits; a quantity is rejected."""
    return _plain(value, "uint64", 0, _BIGGEST_UINT64)


def plain_int(value: Any) -> int:
    """Read a JSON number that fits Go's int, which may be negative."""
    return _plain(value, "int", -_BIGGEST_INT - 1, _BIGGEST_INT)


def storage_requests(value: Any) -> dict[Address, list[Hash]]:
    """Read an object of storage slots by account.

    Raises:
        InvalidParam: The value is not such an object.
    """
    if not isinstance(value, dict):
        raise cannot_unmarshal(kind_of(value), "map[common.Address][]common.Hash")
    keys = list_of(hash32)
    return {parse_address(name): keys(slots) for name, slots in value.items()}


def _plain(value: Any, type_name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise cannot_unmarshal(kind_of(value), type_name)
    if not least <= value <= most:
        raise InvalidParam(
            f"json: cannot unmarshal number {value} into Go value of type {type_name}"
        )
    return value
