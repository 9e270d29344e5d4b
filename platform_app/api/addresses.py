"""Addresses in arguments: bare, or with chain and network in front (pchain.md 1.5).

Unspecified: any network's prefix is accepted, since several clients write the same one everywhere
(gaps.md 1); the chain must be the one that is asked.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from platform_app.api.chain_names import chain_id_of
from platform_app.api.errors import refused, saying, shortened
from platform_app.chain import PlatformChain
from primitives.addresses import parse_address
from primitives.cb58 import Cb58Error
from primitives.ids import ID, PRIMARY_NETWORK_ID, ShortID, WrongIdLength


class ChainAddress(NamedTuple):
    """An address, and the chain that it is on."""

    chain_id: ID
    short_id: ShortID


def read(chain: PlatformChain, text: str) -> ShortID:
    """Return an address of the P-Chain.

    Raises:
        JsonRpcError: -32000, the text is none.
    """
    try:
        return ShortID.parse(text)
    except (Cb58Error, WrongIdLength):
        pass  # the usual case: it has a chain in front
    with saying(f"couldn't parse address {quoted(text)}"):
        chain_id, short_id = read_with_chain(chain, text)
        if chain_id != PRIMARY_NETWORK_ID:
            raise refused(
                f'mismatched chainIDs: expected "{PRIMARY_NETWORK_ID}" but got "{chain_id}"'
            )
    return short_id


def read_all(chain: PlatformChain, texts: Sequence[str]) -> list[ShortID]:
    """Return addresses of the P-Chain, in their order.

    Raises:
        JsonRpcError: -32000, one of the texts is none.
    """
    return [read(chain, text) for text in texts]


def read_with_chain(chain: PlatformChain, text: str) -> ChainAddress:
    """Return an address of any chain of the Primary Network.

    Raises:
        AddressError: The text is none.
        JsonRpcError: -32000, there is no such chain.
    """
    parsed = parse_address(text)
    return ChainAddress(chain_id_of(chain, parsed.chain), parsed.short_id)


def quoted(text: str) -> str:
    """Return a text as it stands in messages, at least its beginning."""
    return json.dumps(shortened(text), ensure_ascii=False)
