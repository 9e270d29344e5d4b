"""Values in slots as text, by their type in source code; and the ABI types of mappings' keys. Pure."""

import re
from typing import Final

from explorer_app.storage.layout import StorageEncoding, Type
from primitives.evm import Address
from primitives.hexadecimal import checksum_address

WORD: Final = 32
_ADDRESS: Final = 20
_LONGEST_SHORT: Final = 31
_NUMBER: Final = re.compile(r"(u?)int\d+")
_ABI: Final = re.compile(r"u?int\d+|bytes\d*|string|bool|address")


class Corrupt(Exception):
    """The slot has a value that no compiler's code would write."""


def is_address(type_: Type) -> bool:
    """Return whether values of a type are addresses."""
    return type_.label in {"address", "address payable"} or type_.label.startswith("contract ")


def text_of(type_: Type, raw: bytes) -> str:
    """Return a value as text: numbers in decimal, addresses with EIP-55's checksum, other types in hex.

    Unspecified: a layout does not contain the members of an enum, so its number is shown; for a user-defined type
    (`type Price is uint96`) it does not contain the underlying type, so its bytes are shown.

    Args:
        type_: A plain type.
        raw: The bytes of the value.
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
    """Return the length of a `bytes` or `string`; up to 31 bytes are stored in the slot itself.

    Raises:
        Corrupt: The slot has an impossible value.
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
    """Return whether data of this length is stored in the slot itself."""
    return length <= _LONGEST_SHORT


def bytes_as_text(type_: Type, data: bytes) -> str:
    """Return the content of a `string` or `bytes` as text."""
    return data.decode("utf-8", "replace") if type_.label == "string" else "0x" + data.hex()


def abi_type(type_: Type) -> str:
    """Return the ABI type by which a mapping's key is parsed.

    Unspecified: the layout does not contain the underlying type of a user-defined type (`type Tag is bytes4`), which
    determines the alignment of its bytes; so a key of less than 32 bytes must be entered as the word that is hashed.
    """
    if type_.encoding is StorageEncoding.BYTES or _ABI.fullmatch(type_.label):
        return type_.label
    if type_.label.startswith("enum ") or type_.size == WORD:
        return f"uint{8 * type_.size}"
    return "address" if is_address(type_) else "bytes32"


def hint(type_: Type) -> str:
    """Return the expected input of a field for a mapping's key."""
    if abi_type(type_) == "bytes32" and type_.label != "bytes32":
        return f"{type_.short}, as 0x and the 64 digits of its word"
    return type_.short
