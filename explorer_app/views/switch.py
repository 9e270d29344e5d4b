"""The switch of EVM chains in the head of the pages. It needs no statement: the chains are in memory."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cchain_app.chain import EvmChain
from chaindb.chains import C_CHAIN
from explorer_app.site import Explorer, pages_of


class ChainLink(NamedTuple):
    """An EVM chain that runs, and its front page."""

    title: str
    chain_id: int
    url: str
    is_shown: bool
    """Whether the page is one of this chain."""


class ChainSwitch(NamedTuple):
    """The chains to choose from."""

    links: Sequence[ChainLink]
    """The C-Chain first; empty if it is the only one."""
    refused: int
    """How many chains of tracked subnets do not run."""
    urls: Mapping[str, str]
    """The front pages of the chains of subnets by blockchain ID."""


def switch_of(site: Explorer) -> ChainSwitch:
    """Return the switch for a page of an EVM chain, or of the node."""
    evms, refused = site.evms, site.refused()
    if [chain.name for chain in evms] == [C_CHAIN]:
        return ChainSwitch((), refused, {})
    urls = {chain.name: pages_of(chain).reverse("explorer:front") for chain in evms}
    return ChainSwitch(
        [_link(chain, urls[chain.name], is_shown=chain is site.evm) for chain in evms],
        refused,
        urls,
    )


def _link(chain: EvmChain, url: str, *, is_shown: bool) -> ChainLink:
    return ChainLink(chain.title, chain.config.chain_id, url, is_shown)
