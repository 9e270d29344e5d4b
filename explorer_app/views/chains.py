"""The page of all EVM chains: the C-Chain, and each chain of a subnet with its state on this node."""

import logging
from collections.abc import Iterator
from typing import Final, NamedTuple

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse

from cchain_app.chain import EvmChain
from cchain_app.selectors import figures
from cchain_app.selectors.figures import HeadFigures
from explorer_app.selectors.chains import PAGE, ListedChain
from explorer_app.selectors.chains import chains as subnet_chains
from explorer_app.site import Explorer, pages_of
from explorer_app.views.page import page, read_number, rendered, shown_of

_log: Final = logging.getLogger(__name__)


class ChainRow(NamedTuple):
    """An EVM chain in the list."""

    title: str
    blockchain_id: str
    chain_id: int | None
    coin: str
    url: str
    """Its front page; empty if this process does not run it."""
    rpc_path: str
    head: HeadFigures | None
    row: ListedChain | None
    """Its row; None for a chain of the Primary Network."""


@page
def chains(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the EVM chains, beginning at a rank (`?after=`), and why some do not run."""
    after = read_number(request.GET.get("after")) or 0
    rows, has_more = shown_of(subnet_chains(site.platform, after=after, count=PAGE + 1), PAGE)
    running = {chain.name: chain for chain in site.evms}
    of_subnets = [_of_subnet(row, running.get(str(row.blockchain_id))) for row in rows]
    context = {
        "section": "chains",
        "rows": [*(_of_primary_network(site) if not after else ()), *of_subnets],
        "older": f"after={after + len(rows)}" if has_more else "",
        "newest": "after=0" if after else "",
    }
    return rendered(site, request, "chains.html", context)


def _of_primary_network(site: Explorer) -> Iterator[ChainRow]:
    return (_of_chain(chain, None) for chain in site.evms if not chain.is_of_subnet)


def _of_subnet(row: ListedChain, chain: EvmChain | None) -> ChainRow:
    if chain is not None:
        return _of_chain(chain, row)
    return ChainRow(row.name, str(row.blockchain_id), row.chain_id, "", "", "", None, row)


def _of_chain(chain: EvmChain, row: ListedChain | None) -> ChainRow:
    return ChainRow(
        chain.title,
        str(chain.blockchain_id),
        chain.config.chain_id,
        chain.coin_symbol,
        pages_of(chain).reverse("explorer:front"),
        f"/ext/bc/{chain.path_name}/rpc",
        _head(chain),
        row,
    )


def _head(chain: EvmChain) -> HeadFigures | None:
    """Return the last block; None if the chain's database cannot be read, which must not hide the other chains."""
    try:
        return figures.head(chain)
    except DatabaseError as error:
        _log.warning("the head of chain %s cannot be read: %s", chain.name, error)
        return None
