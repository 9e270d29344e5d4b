"""Readers of arguments that only the P-Chain has, and the aliases of chains. The others are in `jsonrpc.dispatch.values`.

Unspecified: chains of other subnets run elsewhere, so this node has no alias for them, not even
their IDs.

Arguments whose errors have specific messages (addresses, aliases) remain strings here and are read by
`addresses` and the methods.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from jsonrpc.dispatch.values import (
    MAX_LISTED,
    StartIndex,
    boolean,
    decimal,
    encoding,
    few_of,
    identifier,
    list_of,
    node_id,
    quoted,
    start_index,
    text,
    uint16,
    uint32,
    uint64,
)
from jsonrpc.errors import InvalidParam
from platform_app.api.errors import refused, saying, shortened
from platform_app.chain import PlatformChain
from primitives.addresses import parse_address
from primitives.cb58 import Cb58Error
from primitives.ids import ID, PRIMARY_NETWORK_ID, ShortID, WrongIdLength
from primitives.networks import CCHAIN_ALIASES, XCHAIN_ALIASES

__all__ = [
    "MAX_LISTED",
    "PROPOSED",
    "ChainAddress",
    "ProposedHeight",
    "StartIndex",
    "boolean",
    "chain_id_of",
    "data",
    "decimal",
    "encoding",
    "few_of",
    "find_chain_id",
    "height",
    "identifier",
    "list_of",
    "node_id",
    "quoted",
    "read",
    "read_all",
    "read_with_chain",
    "start_index",
    "text",
    "uint16",
    "uint32",
    "uint64",
]


def data(value: Any) -> bytes:
    """Read bytes in hexadecimal digits, with or without 0x."""
    try:
        return bytes.fromhex(text(value).removeprefix("0x"))
    except ValueError as error:
        raise InvalidParam("not hexadecimal") from error


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


class ProposedHeight:
    """The type of `PROPOSED`: the height that block proposers may use."""


PROPOSED: Final = ProposedHeight()


def height(value: Any) -> int | ProposedHeight:
    """Read a height: a number, with or without quotes, or `proposed`."""
    return PROPOSED if value == "proposed" else uint64(value)


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
