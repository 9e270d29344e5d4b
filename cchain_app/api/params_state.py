"""How the arguments of debug_storageRangeAt and its relatives are read: plain numbers, as Go's types have them."""

from typing import Any, Final

from cchain_app.api.params import cannot_unmarshal, kind_of
from jsonrpc.errors import InvalidParam

_BIGGEST_INT: Final = 2**63 - 1
_BIGGEST_UINT64: Final = 2**64 - 1


def plain_uint64(value: Any) -> int:
    """Read a JSON number of at most 64 bits; a quantity is none."""
    return _plain(value, "uint64", 0, _BIGGEST_UINT64)


def plain_int(value: Any) -> int:
    """Read a JSON number that Go's int holds. One below zero is read, too."""
    return _plain(value, "int", -_BIGGEST_INT - 1, _BIGGEST_INT)


def _plain(value: Any, type_name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise cannot_unmarshal(kind_of(value), type_name)
    if not least <= value <= most:
        raise InvalidParam(
            f"json: cannot unmarshal number {value} into Go value of type {type_name}"
        )
    return value
