"""Parsers of single arguments: quantities, bytes, addresses, blocks, storage keys.

Objects are parsed elsewhere: calls and overrides in `params_call`, log filters in `params_logs`. Each
parser takes a decoded JSON value, and its messages are go-ethereum's without `invalid argument N: `,
which the dispatcher adds. The rules are the parameter grammar of Ethereum's JSON-RPC.
"""

import re
from binascii import unhexlify
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeVar

from jsonrpc.errors import InvalidParam, invalid_params
from primitives import hexadecimal
from primitives.evm import Address, Hash, Slot
from primitives.hexadecimal import HexError, HexReason

T = TypeVar("T")

MAX_BLOCK_NUMBER: Final = 2**63 - 1
ADDRESS_TEXT_LENGTH: Final = 42
HASH_TEXT_LENGTH: Final = 66
NO_FILTER: Final = -1

_DECIMAL = re.compile(r"[0-9]{1,19}")


class Tag(StrEnum):
    """A block by its role instead of its height."""

    EARLIEST = "earliest"
    LATEST = "latest"
    PENDING = "pending"
    SAFE = "safe"
    FINALIZED = "finalized"


class BlockHash(NamedTuple):
    """A block by its hash."""

    hash: Hash
    require_canonical: bool = False


class StorageKey(NamedTuple):
    """A slot, and the number of bytes that the client wrote, because an answer repeats the key in that form."""

    slot: Slot
    length: int


BlockNumber = int | Tag
BlockParam = int | Tag | BlockHash

_TAGS: Final[dict[object, Tag]] = {**{tag.value: tag for tag in Tag}, "accepted": Tag.LATEST}
"""Unspecified: `accepted` is the name that coreth's clients use for the last accepted block. geth does not know it."""


def cannot_unmarshal(reason: str, type_name: str) -> InvalidParam:
    """Return the error for a value that does not fit a Go type."""
    return InvalidParam(f"json: cannot unmarshal {reason} into Go value of type {type_name}")


def text(value: Any, type_name: str) -> str:
    """Return a JSON string as it is."""
    if not isinstance(value, str):
        raise cannot_unmarshal("non-string", type_name)
    return value


def boolean(value: Any) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise cannot_unmarshal(kind_of(value), "bool")
    return value


def quantity(value: Any) -> int:
    """Read a number of at most 256 bits. An empty text is zero, as in geth."""
    return _number(value, 256)


def uint64(value: Any) -> int:
    """Read a number of at most 64 bits. An empty text is zero, as in geth."""
    return _number(value, 64)


def _number(value: Any, bits: int) -> int:
    if not isinstance(value, str):
        raise InvalidParam("hex string without 0x prefix")
    if not value:
        return 0
    try:
        return hexadecimal.decode_quantity(value, bits)
    except HexError as error:
        raise InvalidParam(str(error)) from None


def data(value: Any) -> bytes:
    """Read bytes of any length."""
    return _typed(hexadecimal.decode_data, value, "hexutil.Bytes")


def address(value: Any) -> Address:
    """Read an address in any letter case; the checksum is not verified."""
    if isinstance(value, str) and len(value) == ADDRESS_TEXT_LENGTH and value[:2] == "0x":
        try:
            return Address(unhexlify(value[2:]))
        except ValueError:
            pass  # reported below
    return _typed(hexadecimal.decode_address, value, "common.Address")


def hash32(value: Any) -> Hash:
    """Read a hash."""
    return _typed(hexadecimal.decode_hash, value, "common.Hash")


def _typed(decode: Callable[[str], T], value: Any, type_name: str) -> T:
    """Decode a value; raise geth's message for a named type if it is invalid."""
    try:
        return decode(text(value, type_name))
    except hexadecimal.WrongLength as error:
        raise InvalidParam(str(error)) from None
    except HexError as error:
        raise cannot_unmarshal(str(error), type_name) from None


def block_number(value: Any) -> BlockNumber:
    """Read a height or a tag."""
    return _height(value, "block number larger than int64")


def block_param(value: Any) -> BlockParam:
    """Read a block for a state method: height, tag, hash, or an object with a height or a hash."""
    if isinstance(value, dict):
        return _block_object(value)
    if isinstance(value, str) and len(value) == HASH_TEXT_LENGTH:
        return BlockHash(hash32(value))
    return _height(value, "blocknumber too high")


def _height(value: Any, too_high: str) -> BlockNumber:
    if isinstance(value, str) and (tag := _TAGS.get(value)) is not None:
        return tag
    if not isinstance(value, str):
        raise InvalidParam(str(HexError(HexReason.MISSING_PREFIX)))
    try:
        number = hexadecimal.decode_quantity(value, 64)
    except HexError as error:
        raise InvalidParam(str(error)) from None
    if number > MAX_BLOCK_NUMBER:
        raise InvalidParam(too_high)
    return number


def _block_object(members: dict[str, Any]) -> BlockParam:
    number, block_hash = members.get("blockNumber"), members.get("blockHash")
    if number is not None and block_hash is not None:
        raise InvalidParam("cannot specify both BlockHash and BlockNumber, choose one or the other")
    if number is not None:
        return block_number(number)
    if block_hash is None:
        raise InvalidParam("invalid arguments; neither block nor hash specified")
    canonical = members.get("requireCanonical")
    return BlockHash(hash32(block_hash), canonical is not None and boolean(canonical))


def storage_key(value: Any) -> StorageKey:
    """Read a slot leniently: prefix optional, odd length allowed, padded on the left.

    Raises:
        JsonRpcError: -32602 with geth's message, which does not contain the argument's index.
    """
    given = text(value, "string")
    digits = given[2:] if given[:2] in {"0x", "0X"} else given
    digits = digits.zfill(len(digits) + len(digits) % 2)
    if len(digits) > 64:
        raise invalid_params(f'storage key too long (want at most 32 bytes): "{given[:200]}"')
    try:
        key = hexadecimal.decode_data("0x" + digits)
    except HexError:
        raise invalid_params(f'invalid hex in storage key: "{given}"') from None
    return StorageKey(Slot(key.rjust(32, b"\0")), len(key))


def list_of(parse: Callable[[Any], T]) -> Callable[[Any], list[T]]:
    """Return a parser for an array whose elements are read by `parse`."""

    def parse_list(value: Any) -> list[T]:
        if not isinstance(value, list):
            raise cannot_unmarshal(kind_of(value), "[]string")
        return [parse(element) for element in value]

    return parse_list


def count(value: Any) -> int:
    """Read a number of blocks: a quantity, a decimal text or a JSON number."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return _small(value)
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        return _small(int(value))
    if isinstance(value, str) and value[:2] in {"0x", "0X"}:
        # Unlike a quantity, the text may have leading zeros: geth reads it with `math.ParseUint64`.
        return uint64("0x" + (value[2:].lstrip("0") or "0")) if len(value) > 2 else uint64(value)
    raise InvalidParam("invalid hex or decimal integer")


def _small(number: int) -> int:
    if number >> 64:
        raise InvalidParam("invalid hex or decimal integer")
    return number


def percentiles(value: Any) -> list[float]:
    """Read an array of numbers."""
    if not isinstance(value, list):
        raise cannot_unmarshal(kind_of(value), "[]float64")
    for element in value:
        if isinstance(element, bool) or not isinstance(element, int | float):
            raise cannot_unmarshal(kind_of(element), "float64")
    return [_float(element) for element in value]


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        raise cannot_unmarshal("number", "float64") from None


def milliseconds(value: Any) -> int:
    """Read a time to wait: a quantity or a JSON number."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return _small(value)
    return uint64(value)


def unix_time(value: Any) -> int | None:
    """Read a time in Unix seconds: a quantity or a JSON number; null and `latest` are the head's."""
    return None if value in (None, Tag.LATEST.value) else milliseconds(value)


def anything(value: Any) -> Any:
    """Return a value as it is, because the method reports its own errors."""
    return value


def subscription_id(value: Any) -> str:
    """Read the ID of a subscription, which is a string."""
    return text(value, "rpc.ID")


def filter_id(value: Any) -> int:
    """Read the ID of a filter; an invalid string becomes an ID that no filter has."""
    try:
        return hexadecimal.decode_quantity(text(value, "rpc.ID"), 128)
    except HexError:
        return NO_FILTER


def kind_of(value: Any) -> str:
    """Return the name that Go's decoder uses for a JSON value's type."""
    for types, name in _KINDS:
        if isinstance(value, types):
            return name
    return "value"


_KINDS: Final[tuple[tuple[Any, str], ...]] = (
    (type(None), "null"),
    (bool, "bool"),  # before the numbers, because bool is a subclass of int
    ((int, float), "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)
