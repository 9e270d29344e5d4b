"""Readers of single arguments, with the rules of Go's JSON decoder (pchain.md 8.1), and the aliases of chains.

Unspecified: chains of other subnets run elsewhere, so this node has no alias for them, not even
their IDs.

Each reader takes a decoded JSON value, never null, and raises `InvalidParam` for an invalid value; the
caller then gets the same message for every argument. A list that is too long has a message of its own.
Arguments whose errors have specific messages (addresses, aliases) remain strings here and are read by
`addresses` and the methods.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from jsonrpc.errors import InvalidParam
from platform_app.api.errors import refused, saying, shortened, too_many
from platform_app.chain import PlatformChain
from primitives.addresses import parse_address
from primitives.cb58 import Cb58Error
from primitives.checksummed import EncodingError, TextEncoding
from primitives.ids import ID, PRIMARY_NETWORK_ID, FixedId, IdError, NodeID, ShortID, WrongIdLength
from primitives.networks import CCHAIN_ALIASES, XCHAIN_ALIASES


def chain_id_of(chain: PlatformChain, alias: str) -> ID:
    """Return the ID of a chain of the Primary Network.

    Raises:
        JsonRpcError: -32000, no chain has this alias.
    """
    chain_id = find_chain_id(chain, alias)
    if chain_id is None:
        raise refused(f"there is no ID with alias: {shortened(alias)}")
    return chain_id


def find_chain_id(chain: PlatformChain, alias: str) -> ID | None:
    """Return the ID of a chain of the Primary Network, or None for an unknown alias."""
    if chain.is_named(alias):
        return chain.blockchain_id
    network = chain.network()
    if alias in {*XCHAIN_ALIASES, str(network.x_chain_id)}:
        return network.x_chain_id
    if alias in {*CCHAIN_ALIASES, str(network.c_chain_id)}:
        return network.c_chain_id
    return None


T = TypeVar("T")
AnyId = TypeVar("AnyId", bound=FixedId)

_DIGITS: Final = re.compile(r"[0-9]{1,20}")
_DECIMAL: Final = re.compile(
    r"[+-]?([0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?"
)

MAX_LISTED: Final = 1024
"""Maximum values in a list whose values are costly to read: the same number as addresses in getUTXOs."""


class StartIndex(NamedTuple):
    """The start of a page of UTXOs, as the caller wrote it."""

    address: str = ""
    utxo: str = ""

    @property
    def is_given(self) -> bool:
        """Whether it has a position at all."""
        return bool(self.address or self.utxo)


class ProposedHeight:
    """The type of `PROPOSED`: the height that block proposers may use."""


PROPOSED: Final = ProposedHeight()


def text(value: Any) -> str:
    """Read a JSON string."""
    if not isinstance(value, str):
        raise InvalidParam("not a string")
    return value


def boolean(value: Any) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise InvalidParam("not a boolean")
    return value


def uint64(value: Any) -> int:
    """Read a 64-bit unsigned integer, with or without quotes."""
    return _number(value, 64)


def uint32(value: Any) -> int:
    """Read a 32-bit unsigned integer, with or without quotes."""
    return _number(value, 32)


def uint16(value: Any) -> int:
    """Read a 16-bit unsigned integer, with or without quotes."""
    return _number(value, 16)


def decimal(value: Any) -> float:
    """Read a number that may have a fraction, with or without quotes."""
    if isinstance(value, str):
        if _DECIMAL.fullmatch(value) is None:
            raise InvalidParam("not a number")
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidParam("not a number")
    try:
        return float(value)
    except OverflowError:
        raise InvalidParam("number out of range") from None


def identifier(value: Any) -> ID:
    """Read an ID in CB58."""
    return _typed(ID, value)


def node_id(value: Any) -> NodeID:
    """Read a node ID: `NodeID-` and CB58."""
    return _typed(NodeID, value)


def encoding(value: Any) -> TextEncoding:
    """Read the name of an encoding, in any letter case."""
    try:
        return TextEncoding.parse(text(value))
    except EncodingError as error:
        raise InvalidParam(str(error)) from None


def height(value: Any) -> int | ProposedHeight:
    """Read a height: a number, with or without quotes, or `proposed`."""
    return PROPOSED if value == "proposed" else uint64(value)


def start_index(value: Any) -> StartIndex:
    """Read an object of two strings, either of which may be missing."""
    if not isinstance(value, dict):
        raise InvalidParam("not an object")
    given = {name.lower(): part for name, part in value.items() if part is not None}
    return StartIndex(text(given.get("address", "")), text(given.get("utxo", "")))


def list_of(read: Callable[[Any], T], missing: T) -> Callable[[Any], list[T]]:
    """Return a reader of arrays, in which null becomes `missing`, as in Go."""

    def read_list(value: Any) -> list[T]:
        if not isinstance(value, list):
            raise InvalidParam("not an array")
        return [missing if element is None else read(element) for element in value]

    return read_list


def few_of(what: str, read: Callable[[Any], T], missing: T) -> Callable[[Any], list[T]]:
    """Return a reader of arrays that rejects more than `MAX_LISTED` values with a specific error.

    Unspecified: the reference reads as many values as fit into a request.
    """
    read_all = list_of(read, missing)

    def read_list(value: Any) -> list[T]:
        if isinstance(value, list) and len(value) > MAX_LISTED:
            raise too_many(what, len(value), MAX_LISTED)
        return read_all(value)

    return read_list


def _number(value: Any, bits: int) -> int:
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << bits:
        raise InvalidParam(f"not a number of {bits} bits")
    return value


def _typed(kind: type[AnyId], value: Any) -> AnyId:
    try:
        return kind.parse(text(value))
    except (Cb58Error, IdError) as error:
        raise InvalidParam(str(error)) from None


class ChainAddress(NamedTuple):
    """An address and its chain."""

    chain_id: ID
    short_id: ShortID


def read(chain: PlatformChain, text: str) -> ShortID:
    """Return an address of the P-Chain.

    Raises:
        JsonRpcError: -32000, the string is not an address.
    """
    try:
        return ShortID.parse(text)
    except (Cb58Error, WrongIdLength):
        pass  # the usual case: it starts with a chain
    with saying(f"couldn't parse address {quoted(text)}"):
        chain_id, short_id = read_with_chain(chain, text)
        if chain_id != PRIMARY_NETWORK_ID:
            raise refused(
                f'mismatched chainIDs: expected "{PRIMARY_NETWORK_ID}" but got "{chain_id}"'
            )
    return short_id


def read_all(chain: PlatformChain, texts: Sequence[str]) -> list[ShortID]:
    """Return addresses of the P-Chain, in the given order.

    Raises:
        JsonRpcError: -32000, one of the strings is not an address.
    """
    return [read(chain, text) for text in texts]


def read_with_chain(chain: PlatformChain, text: str) -> ChainAddress:
    """Return an address of any chain of the Primary Network.

    Raises:
        AddressError: The string is not an address.
        JsonRpcError: -32000, there is no such chain.
    """
    parsed = parse_address(text)
    return ChainAddress(chain_id_of(chain, parsed.chain), parsed.short_id)


def quoted(text: str) -> str:
    """Return a string quoted for messages, truncated if it is long."""
    return json.dumps(shortened(text), ensure_ascii=False)
