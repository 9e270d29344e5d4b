"""Values of a slot as text, by the type that sources give them; and of which ABI type a mapping's keys are. Pure."""

import re
from typing import Final

from explorer_app.storage.layout import Encoding, Type
from primitives.evm import Address
from primitives.hexadecimal import checksum_address

WORD: Final = 32
_ADDRESS: Final = 20
_LONGEST_SHORT: Final = 31
_NUMBER: Final = re.compile(r"(u?)int\d+")
_ABI: Final = re.compile(r"u?int\d+|bytes\d*|string|bool|address")


class Corrupt(Exception):
    """A slot that no compiler's code would have left so."""


def is_address(type_: Type) -> bool:
    """Say whether values of a type are addresses."""
    return type_.label in {"address", "address payable"} or type_.label.startswith("contract ")


def text_of(type_: Type, raw: bytes) -> str:
    """Return a value as text: numbers decimal, addresses as EIP-55 writes them, else hex.

    Unspecified: of an enum the layout names no members, so its number stands there; of a type with a name of its own
    (`type Price is uint96`) it does not say what it is, so its bytes do.

    Args:
        type_: One that is plain.
        raw: Its bytes, as many as it has.
    """
    if is_address(type_) and len(raw) == _ADDRESS:
        return str(checksum_address(Address(raw)))
    if type_.label == "bool":
        return "true" if any(raw) else "false"
    number = _NUMBER.fullmatch(type_.label)
    if number or type_.label.startswith("enum "):
        return str(int.from_bytes(raw, "big", signed=bool(number) and not (number and number[1])))
    return "0x" + raw.hex()


def length_of_bytes(word: bytes) -> int:
    """Return how many bytes a `bytes` or `string` has; up to 31 of them stand in the slot itself.

    Raises:
        Corrupt: The slot says something that is impossible.
    """
    number = int.from_bytes(word, "big")
    if number & 1:
        length = number >> 1
        if length <= _LONGEST_SHORT:
            raise Corrupt
        return length
    length = word[-1] >> 1
    if length > _LONGEST_SHORT:
        raise Corrupt
    return length


def is_short(length: int) -> bool:
    """Say whether so many bytes stand in the slot itself."""
    return length <= _LONGEST_SHORT


def bytes_as_text(type_: Type, data: bytes) -> str:
    """Return what a `string` or `bytes` says."""
    return data.decode("utf-8", "replace") if type_.label == "string" else "0x" + data.hex()


def abi_type(type_: Type) -> str:
    """Return by which ABI type a mapping's key of a type is read.

    Unspecified: the layout does not say what a type with a name of its own is (`type Tag is bytes4`), and on that
    depends at which end of the word its bytes stand; so one of less than 32 bytes is given as the word that is hashed.
    """
    if type_.encoding is Encoding.BYTES or _ABI.fullmatch(type_.label):
        return type_.label
    if type_.label.startswith("enum ") or type_.size == WORD:
        return f"uint{8 * type_.size}"
    return "address" if is_address(type_) else "bytes32"


def hint(type_: Type) -> str:
    """Return what a field for a mapping's key says it takes."""
    if abi_type(type_) == "bytes32" and type_.label != "bytes32":
        return f"{type_.short}, as 0x and the 64 digits of its word"
    return type_.short
