"""The search box: everything that a text refers to on any chain, with a redirect if there is one exact match.

Names of tokens and contracts are untrusted: names are searched only if the text has no other meaning, and a match by
name alone never causes a redirect.
"""

import logging
from itertools import islice
from typing import Final, NamedTuple

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from adminkit.terms import parse_term, read_term
from chaindb.fields import HexBytes
from explorer_app.selectors import (
    accounts,
    cchain,
    l1,
    moves,
    platform,
    tokens,
    verified,
    xchain,
)
from explorer_app.services import indexes
from explorer_app.site import Explorer, pages_of
from explorer_app.views.moves import asset_book
from explorer_app.views.page import page, rendered
from primitives.evm import Address, Hash
from primitives.hexadecimal import checksum_address
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID

_log: Final = logging.getLogger(__name__)

_MAX_TEXT: Final = 200
_SUGGESTED: Final = 6
_NAMED: Final = 3
"""Limit of tokens by symbol, of tokens by name, and of contracts, whose name begins with the text."""
_SHORTEST_NAME: Final = 2
_MAX_NAME: Final = 40
"""Limit of characters of a name that are shown."""
_SHORTEST_PREFIX: Final = len(NodeID.PREFIX) + 1


class Hit(NamedTuple):
    """An item that a text refers to."""

    kind: str
    text: str
    page: str
    address: str = ""
    """The address of an item found by its untrusted name; else empty."""
    is_copy: bool = False
    """Whether an earlier token has the same name."""


@page
def search(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Redirect to the item that the text refers to; list the items if there are several or none."""
    query = request.GET.get("q", "").strip()[:_MAX_TEXT]
    results = hits(site, query)
    if len(results) == 1 and not results[0].address:
        return HttpResponseRedirect(results[0].page)
    context = {"query": query, "hits": results}
    return rendered(site, request, "search.html", context, 200 if results or not query else 404)


@page
def suggest(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Return suggestions for the text so far, while the user types."""
    query = request.GET.get("q", "").strip()[:_MAX_TEXT]
    return rendered(site, request, "_suggestions.html", {"hits": hits(site, query)[:_SUGGESTED]})


def hits(site: Explorer, query: str) -> list[Hit]:
    """Return all items that a text refers to, else items whose names begin with it. Needs few queries, each by key."""
    if not query:
        return []
    results: list[Hit] = []
    if site.has_evm:
        results += _on_evm(site, query)
    results += _on_platform(site, query)
    if site.has_evm and site.is_of_cchain and not results:
        results += _atomic(site, query)
    if site.has_xchain:
        results += _on_xchain(site, query, is_known=bool(results))
    if not results:
        results += _on_other_evms(site, query)
    if not results and len(query) >= _SHORTEST_NAME:
        return [
            *_chains_called(site, query),
            *(_by_name(site, query) if site.has_evm else ()),
            *_assets_called(site, query),
        ]
    return results


def _on_evm(site: Explorer, query: str) -> list[Hit]:
    term, chain = parse_term(query), site.evm
    if term.address is not None:
        text = str(checksum_address(Address(term.address)))
        facts = accounts.account(chain, Address(term.address))
        kind = "Contract" if facts.is_contract else f"{chain.title} address"
        return [Hit(kind, text, site.pages.reverse("explorer:address", [text]))]
    if term.hash is not None:
        return _by_hash(site, term.hash)
    if term.number is not None and cchain.block(chain, term.number) is not None:
        page_of = site.pages.reverse("explorer:block", [term.number])
        return [Hit(f"{chain.title} block", f"{term.number:,}", page_of)]
    return []


def _by_hash(site: Explorer, hash_bytes: HexBytes) -> list[Hit]:
    text, chain = str(hash_bytes), site.evm
    if cchain.number_of(chain, Hash(hash_bytes)) is not None:
        page_of = site.pages.reverse("explorer:block", [text])
        return [Hit(f"{chain.title} block", text, page_of)]
    row = cchain.transaction(chain, Hash(hash_bytes))
    waits = row is None and Hash(hash_bytes) in chain.memory.transactions
    if row is not None or waits:
        page_of = site.pages.reverse("explorer:tx", [text])
        return [Hit(f"{chain.title} transaction", text, page_of)]
    return []


def _on_other_evms(site: Explorer, query: str) -> list[Hit]:
    """Return the block or transaction with a hash on the EVM chains that the page does not show; two queries for each."""
    hash_bytes = parse_term(query).hash
    if hash_bytes is None:
        return []
    found: list[Hit] = []
    for chain in site.evms:
        if chain is site.evm:
            continue
        try:
            found += _by_hash(site.of(chain), hash_bytes)
        except DatabaseError as error:  # of this chain alone
            _log.warning("chain %s cannot be searched: %s", chain.name, error)
    return found


def _chains_called(site: Explorer, query: str) -> list[Hit]:
    """Return EVM chains whose names, which anybody can choose, begin with a text."""
    start = query.casefold()
    found = (chain for chain in site.evms if chain.title.casefold().startswith(start))
    return [
        Hit("Chain", chain.title, pages_of(chain).reverse("explorer:front"), chain.name)
        for chain in islice(found, _NAMED)
    ]


def _by_name(site: Explorer, query: str) -> list[Hit]:
    indexes.wait_for_tokens(site)
    token_hits = [
        _named(
            site,
            "Token",
            " ".join(_cut(name) for name in (token.symbol, token.name) if name),
            "explorer:token",
            token.address,
            is_copy=token.is_copy,
        )
        for token in tokens.named(site.evm, query, count=_NAMED)
    ]
    contracts = verified.named(site.evm, query, count=_NAMED)
    return token_hits + [
        _named(site, "Verified contract", _cut(contract.name), "explorer:address", contract.address)
        for contract in contracts
    ]


def _named(
    site: Explorer, kind: str, text: str, page_of: str, address: bytes, *, is_copy: bool = False
) -> Hit:
    shown = str(checksum_address(Address(bytes(address))))
    return Hit(kind, text, site.pages.reverse(page_of, [shown]), shown, is_copy)


def _cut(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…"


def _on_platform(site: Explorer, query: str) -> list[Hit]:
    chain, term = site.platform, read_term(query)
    if query.startswith(NodeID.PREFIX):
        nodes = (
            platform.nodes_beginning(chain, query, count=_SUGGESTED)
            if len(query) >= _SHORTEST_PREFIX
            else []
        )
        if not nodes and term.node_id is not None and l1.of_node(chain, term.node_id, count=1):
            nodes = [str(term.node_id)]
        return [Hit("Node", node, reverse("explorer:p-validator", args=[node])) for node in nodes]
    if term.number is not None and platform.block(chain, term.number) is not None:
        page_of = reverse("explorer:p-block", args=[term.number])
        return [Hit("P-Chain block", f"{term.number:,}", page_of)]
    if term.id is not None:
        return _by_id(site, term.id)
    if term.address is not None and parse_term(query).address is None and query[:2] != "X-":
        text = platform.text_of(chain, term.address)
        return [Hit("P-Chain address", text, reverse("explorer:p-address", args=[text]))]
    return []


def _by_id(site: Explorer, wanted_id: ID) -> list[Hit]:
    chain, text = site.platform, str(wanted_id)
    if wanted_id == PRIMARY_NETWORK_ID:
        return [Hit("Subnet", "Primary Network", reverse("explorer:p-validators"))]
    if platform.subnet(chain, wanted_id) is not None:
        return [Hit("Subnet", text, reverse("explorer:p-subnet", args=[text]))]
    blockchain = platform.blockchain(chain, wanted_id)
    if blockchain is not None:
        found = site.find(text)
        if found is not None and not found.is_of_cchain:
            return [Hit("Chain", blockchain.name, found.pages.reverse("explorer:front"))]
        return [Hit("Blockchain", blockchain.name, reverse("explorer:p-tx", args=[text]))]
    is_known = platform.tx(chain, wanted_id) or platform.undecided(chain, wanted_id)
    others = (
        ("P-Chain transaction", "explorer:p-tx", is_known),
        ("L1 validator", "explorer:p-l1-validator", l1.validation(chain, wanted_id)),
        ("P-Chain block", "explorer:p-block", platform.block(chain, wanted_id)),
    )
    return [
        Hit(kind, text, reverse(page_of, args=[text]))
        for kind, page_of, found in others
        if found is not None
    ][:1]


def _atomic(site: Explorer, query: str) -> list[Hit]:
    """Return the import or export of the C-Chain with this ID."""
    wanted_id = read_term(query).id
    text = str(wanted_id)
    if wanted_id is not None and moves.atomic_tx(site.evm, wanted_id) is not None:
        return [Hit("C-Chain import or export", text, reverse("explorer:atomic-tx", args=[text]))]
    return []


def _on_xchain(site: Explorer, query: str, *, is_known: bool) -> list[Hit]:
    """Return items of the X-Chain; an ID that is known on another chain is no item of this one."""
    chain, term = site.avm, read_term(query)
    if term.number is not None and xchain.block(chain, term.number) is not None:
        page_of = reverse("explorer:x-block", args=[term.number])
        return [Hit("X-Chain block", f"{term.number:,}", page_of)]
    if term.id is not None and not is_known:
        return _by_xchain_id(site, term.id)
    if term.address is not None and parse_term(query).address is None and query[:2] != "P-":
        text = chain.address(term.address)
        return [Hit("X-Chain address", text, reverse("explorer:x-address", args=[text]))]
    return []


def _by_xchain_id(site: Explorer, wanted_id: ID) -> list[Hit]:
    chain, text = site.avm, str(wanted_id)
    row = xchain.asset(site.avm, asset_book(site), wanted_id)
    if row is not None:
        return [Hit(f"Asset {row.name.symbol}", text, reverse("explorer:x-asset", args=[text]))]
    if xchain.tx(chain, wanted_id) is not None or xchain.undecided(chain, wanted_id) is not None:
        return [Hit("X-Chain transaction", text, reverse("explorer:x-tx", args=[text]))]
    if xchain.block(chain, wanted_id) is not None:
        return [Hit("X-Chain block", text, reverse("explorer:x-block", args=[text]))]
    return []


def _assets_called(site: Explorer, query: str) -> list[Hit]:
    if not site.has_xchain or site.platform.position() is None:
        return []  # there is no asset before the genesis
    found = []
    for row in xchain.assets_called(site.avm, asset_book(site), query, count=_NAMED):
        name, text = row.name, str(row.asset_id)
        page_of = reverse("explorer:x-asset", args=[text])
        title = f"{_cut(name.symbol)} {_cut(name.name)}"
        found.append(Hit("X-Chain asset", title, page_of, text, name.is_copy))
    return found
