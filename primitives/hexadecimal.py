"""0x-prefixed hex of byte strings and quantities, as in Ethereum's JSON-RPC, and back.

Strict and fast. The messages are go-ethereum's, without the `invalid argument N: ` that the RPC
layer prepends. The P-Chain's hex with checksum is a different format (`checksummed`).
"""

from binascii import Error as BinasciiError
from binascii import unhexlify
from enum import StrEnum

from primitives.evm import Address, Hash
from primitives.hashing import keccak256
from primitives.reasons import ErrorWithReason

_DIGITS = "0123456789abcdefABCDEF"


class HexReason(StrEnum):
    """Why a text is not the 0x-prefixed hex of the expected value."""

    EMPTY_TEXT = "empty hex string"
    MISSING_PREFIX = "hex string without 0x prefix"
    ODD_LENGTH = "hex string of odd length"
    INVALID_DIGIT = "invalid hex string"
    EMPTY_NUMBER = 'hex string "0x"'
    LEADING_ZERO = "hex number with leading zero digits"
    NUMBER_TOO_LARGE = "hex number > {bits} bits"
    # The length counts digits.
    WRONG_LENGTH = "hex string has length {length}, want {expected} for {type_name}"


class HexError(ErrorWithReason):
    """A text that is not the 0x-prefixed hex of the expected value."""


class WrongLength(HexError):
    """A fixed-size value of another size; messages count digits."""


def encode_quantity(number: int) -> str:
    """Return the shortest 0x-prefixed hex of a non-negative number: 0 is "0x0"."""
    return hex(number)


def encode_data(data: bytes) -> str:
    """Return the 0x-prefixed hex of bytes, two lower-case digits each; no bytes are "0x"."""
    return "0x" + data.hex()


def decode_quantity(text: str, bits: int = 256) -> int:
    """Decode a quantity of at most `bits` bits.

    Raises:
        HexError: The text is empty; it does not begin with 0x; it has no digits; it has an
            unnecessary leading zero; it has more bits; or it has characters other than hex digits.
    """
    digits = _digits(text)
    if not digits:
        raise HexError(HexReason.EMPTY_NUMBER)
    if digits[0] == "0" and len(digits) > 1:
        raise HexError(HexReason.LEADING_ZERO)
    if len(digits) * 4 > bits + 3:
        raise HexError(HexReason.NUMBER_TOO_LARGE, bits=bits)
    # int() would also take underscores, signs and spaces
    if digits.strip(_DIGITS):
        raise HexError(HexReason.INVALID_DIGIT)
    number = int(digits, 16)
    if number >> bits:
        raise HexError(HexReason.NUMBER_TOO_LARGE, bits=bits)
    return number


def decode_data(text: str) -> bytes:
    """Decode a byte string of any length.

    Raises:
        HexError: The text is empty; it does not begin with 0x; it has an odd number of digits; or
            it has characters other than hex digits.
    """
    digits = _digits(text)
    if len(digits) % 2:
        raise HexError(HexReason.ODD_LENGTH)
    return _unhexlify(digits)


def decode_fixed(text: str, size: int, type_name: str) -> bytes:
    """Decode a byte string of exactly `size` bytes; error messages name it `type_name`.

    Raises:
        HexError: The text is empty; it does not begin with 0x; it has an odd number of digits; or
            it has characters other than hex digits.
        WrongLength: It has another length.
    """
    digits = _digits(text)
    if len(digits) != 2 * size:
        if len(digits) % 2:
            raise HexError(HexReason.ODD_LENGTH)
        raise WrongLength(
            HexReason.WRONG_LENGTH, length=len(digits), expected=2 * size, type_name=type_name
        )
    return _unhexlify(digits)


def decode_address(text: str) -> Address:
    """Decode an address in any letter case; its checksum is not verified. Raises as `decode_fixed`."""
    return Address(decode_fixed(text, 20, "common.Address"))


def decode_hash(text: str) -> Hash:
    """Decode a 32-byte hash. Raises as `decode_fixed`."""
    return Hash(decode_fixed(text, 32, "common.Hash"))


def checksum_address(address: Address) -> str:
    """Return the address in the mixed case of EIP-55."""
    digits = address.hex()
    case = keccak256(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if nibble >= "8" else digit
        for digit, nibble in zip(digits, case, strict=False)
    )


def _digits(text: str) -> str:
    """Return the digits after the prefix 0x or 0X, which go-ethereum accepts too."""
    if text[:2] not in {"0x", "0X"}:
        raise HexError(HexReason.MISSING_PREFIX if text else HexReason.EMPTY_TEXT)
    return text[2:]


def _unhexlify(digits: str) -> bytes:
    try:
        return unhexlify(digits)
    except (BinasciiError, ValueError):  # ValueError: characters outside ASCII
        raise HexError(HexReason.INVALID_DIGIT) from None
