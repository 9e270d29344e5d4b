"""0x-prefixed hex of byte strings and quantities, as in Ethereum's JSON-RPC, and back.

Strict and fast. The messages are go-ethereum's, without the `invalid argument N: ` that the RPC
layer prepends. The P-Chain's hex with checksum is a different format (`checksummed`).

    HexError
    ├── EmptyText          an empty string
    ├── MissingPrefix      no 0x in front
    ├── OddLength          an odd number of digits
    ├── InvalidDigit       a character that is not a hex digit
    ├── EmptyNumber        "0x" as a quantity
    ├── LeadingZero        "0x01" as a quantity
    ├── NumberTooLarge     more bits than the quantity may have
    └── WrongLength        not the length of an address, hash or other fixed-size value
"""

from binascii import Error as BinasciiError
from binascii import unhexlify

from primitives.evm import Address, Hash
from primitives.hashing import keccak256

_DIGITS = "0123456789abcdefABCDEF"


class HexError(Exception):
    """A text that is not the 0x-prefixed hex of the expected value."""


class EmptyText(HexError):
    """An empty string."""

    def __init__(self) -> None:
        super().__init__("empty hex string")


class MissingPrefix(HexError):
    """A text that does not begin with 0x."""

    def __init__(self) -> None:
        super().__init__("hex string without 0x prefix")


class OddLength(HexError):
    """A byte string with an odd number of digits."""

    def __init__(self) -> None:
        super().__init__("hex string of odd length")


class InvalidDigit(HexError):
    """A character that is not a hex digit."""

    def __init__(self) -> None:
        super().__init__("invalid hex string")


class EmptyNumber(HexError):
    """A quantity without digits."""

    def __init__(self) -> None:
        super().__init__('hex string "0x"')


class LeadingZero(HexError):
    """A quantity that is not in its shortest form."""

    def __init__(self) -> None:
        super().__init__("hex number with leading zero digits")


class NumberTooLarge(HexError):
    """A quantity with more bits than it may have."""

    def __init__(self, bits: int) -> None:
        super().__init__(f"hex number > {bits} bits")
        self.bits = bits


class WrongLength(HexError):
    """A fixed-size value of another size; messages count digits."""

    def __init__(self, length: int, expected: int, type_name: str) -> None:
        super().__init__(f"hex string has length {length}, want {expected} for {type_name}")
        self.length = length
        self.wanted = expected
        self.type_name = type_name


def encode_quantity(number: int) -> str:
    """Return the shortest 0x-prefixed hex of a non-negative number: 0 is "0x0"."""
    return hex(number)


def encode_data(data: bytes) -> str:
    """Return the 0x-prefixed hex of bytes, two lower-case digits each; no bytes are "0x"."""
    return "0x" + data.hex()


def decode_quantity(text: str, bits: int = 256) -> int:
    """Decode a quantity of at most `bits` bits.

    Raises:
        EmptyText: The text is empty.
        MissingPrefix: It does not begin with 0x.
        EmptyNumber: It has no digits.
        LeadingZero: It has an unnecessary leading zero.
        NumberTooLarge: It has more bits.
        InvalidDigit: It has characters other than hex digits.
    """
    digits = _digits(text)
    if not digits:
        raise EmptyNumber
    if digits[0] == "0" and len(digits) > 1:
        raise LeadingZero
    if len(digits) * 4 > bits + 3:
        raise NumberTooLarge(bits)
    # int() would also take underscores, signs and spaces
    if digits.strip(_DIGITS):
        raise InvalidDigit
    number = int(digits, 16)
    if number >> bits:
        raise NumberTooLarge(bits)
    return number


def decode_data(text: str) -> bytes:
    """Decode a byte string of any length.

    Raises:
        EmptyText: The text is empty.
        MissingPrefix: It does not begin with 0x.
        OddLength: It has an odd number of digits.
        InvalidDigit: It has characters other than hex digits.
    """
    digits = _digits(text)
    if len(digits) % 2:
        raise OddLength
    return _unhexlify(digits)


def decode_fixed(text: str, size: int, type_name: str) -> bytes:
    """Decode a byte string of exactly `size` bytes; error messages name it `type_name`.

    Raises:
        EmptyText: The text is empty.
        MissingPrefix: It does not begin with 0x.
        OddLength: It has an odd number of digits.
        WrongLength: It has another length.
        InvalidDigit: It has characters other than hex digits.
    """
    digits = _digits(text)
    if len(digits) != 2 * size:
        if len(digits) % 2:
            raise OddLength
        raise WrongLength(len(digits), 2 * size, type_name)
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
        raise MissingPrefix if text else EmptyText
    return text[2:]


def _unhexlify(digits: str) -> bytes:
    try:
        return unhexlify(digits)
    except (BinasciiError, ValueError):  # ValueError: characters outside ASCII
        raise InvalidDigit from None
