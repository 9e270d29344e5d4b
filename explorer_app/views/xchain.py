"""Pages of the X-Chain: blocks, transactions, addresses, assets and collectibles."""

from json import dumps
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse

from adminkit.terms import read_term
from chaindb import clock
from explorer_app.selectors import moves, platform, xchain
from explorer_app.selectors.assets import payload_text
from explorer_app.selectors.xchain import PAGE
from explorer_app.site import Explorer
from explorer_app.views.moves import asset_book, moved, waiting_for
from explorer_app.views.page import (
    NO_PART,
    further_pages,
    list_pages,
    read_number,
    rendered,
    shown_of,
    xchain_page,
)
from explorer_app.views.xchain_sentences import SentenceNames, sentence
from network_app.selectors import block_proposer
from primitives.ids import ID
from xchain_app.txs.base import AvmTx, operations_of
from xchain_app.txs.views import render_tx

MAX_JSON: Final = 64 * 1024
_TABS: Final = {"": "Transactions", "outputs": "Unspent outputs"}
_NO_BLOCK: Final = (
    "The X-Chain has no block with this height or ID. It may not have reached this height yet."
)
_NO_ID: Final = (
    "Not an X-Chain transaction ID. An ID is a CB58 string of about 50 letters and digits."
)
_NO_TRANSACTION: Final = "This node knows no X-Chain transaction with this ID. It was never sent to this node, or its record was deleted."
_NO_ADDRESS: Final = "Not an X-Chain address. An address is X- followed by a Bech32 string."
_NO_ASSET: Final = "No accepted transaction created an asset with this ID."


@xchain_page
def blocks(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the latest blocks, or those below a height (`?before=`)."""
    before = read_number(request.GET.get("before"))
    rows, has_more = shown_of(xchain.blocks(site.avm, before=before, count=PAGE + 1), PAGE)
    more = list_pages(request, rows, lambda row: row.height, has_more=has_more)
    return rendered(site, request, "x_blocks.html", {"section": "x-txs", "rows": rows, **more})


@xchain_page
def txs(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the latest transactions, or those before one (`?before=`, its key)."""
    before = read_number(request.GET.get("before"))
    rows, has_more = shown_of(xchain.txs(site.avm, before=before, count=PAGE + 1), PAGE)
    more = list_pages(request, rows, lambda row: row.id, has_more=has_more)
    return rendered(site, request, "x_txs.html", _framed(site, rows=rows, **more))


@xchain_page
def block(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show a block by its height or ID, with its transactions starting at an index (`?before=`)."""
    term = read_term(text)
    height_or_id = term.number if term.id is None else term.id
    block = None if height_or_id is None else xchain.block(site.avm, height_or_id)
    if block is None:
        raise Http404(_NO_BLOCK)
    first = read_number(request.GET.get("before")) or 0
    found = xchain.txs_of_block(site.avm, block.height, first=first, count=PAGE + 1)
    rows, has_more = shown_of(found, PAGE)
    more = list_pages(request, rows, lambda row: row.position + 1, has_more=has_more)
    context = _framed(
        site,
        found=block,
        tip=site.avm.tip().height,
        proposer=block_proposer(site.avm.db, site.avm.name, block.height),
        rows=rows,
        looked_at=str(block.block_id),
        **more,
    )
    return rendered(site, request, "x_block.html", context)


@xchain_page
def tx(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show a transaction by its ID: a description, its inputs and outputs; also a transaction that is not in a block."""
    tx_id = read_term(text).id
    if tx_id is None:
        raise Http404(_NO_ID)
    row_and_bytes = xchain.tx(site.avm, tx_id)
    if row_and_bytes is None:
        return _undecided(site, request, tx_id)
    row, raw = row_and_bytes
    context = _framed(site, row=row, raw=raw[:MAX_JSON], size=len(raw), looked_at=str(tx_id))
    signed = xchain.read(raw)
    if signed is not None:
        context |= _decoded(site, signed, row.peer_chain)
    return rendered(site, request, "x_tx.html", context)


@xchain_page
def address(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show the coins of an address, its transactions (`?before=`), and its outputs (`?tab=outputs&after=`, an ID)."""
    address = read_term(text).address
    tab = request.GET.get("tab", "")
    if address is None:
        raise Http404(_NO_ADDRESS)
    if tab not in _TABS:
        raise Http404(NO_PART)
    book = asset_book(site)
    context = _framed(
        site,
        portfolio=xchain.portfolio(site.avm, book, address, now=clock.now()),
        platform_forms=platform.forms_of(site.platform, address),
        **waiting_for(site, address),
        tab=tab,
        tabs=_TABS.items(),
    )
    if tab:
        after = read_term(request.GET.get("after", "")).id
        found = xchain.utxos(site.avm, book, address, after=after, count=PAGE + 1)
        flows, has_more = shown_of(found, PAGE)
        last = str(xchain.utxo_key(flows[-1])) if has_more else None
        context |= {"flows": flows, **further_pages(request, "after", last)}
    else:
        before = read_number(request.GET.get("before"))
        txs_found = xchain.txs_of_address(site.avm, address, before=before, count=PAGE + 1)
        rows, has_more = shown_of(txs_found, PAGE)
        more = list_pages(request, rows, lambda row: row.id, has_more=has_more)
        context |= {"rows": rows, **more}
    return rendered(site, request, "x_address.html", context)


@xchain_page
def assets(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the latest assets, or those before one (`?before=`, its key)."""
    before = read_number(request.GET.get("before"))
    found = xchain.assets(site.avm, asset_book(site), before=before, count=PAGE + 1)
    rows, has_more = shown_of(found, PAGE)
    more = list_pages(request, rows, lambda row: row.key, has_more=has_more)
    return rendered(site, request, "x_assets.html", {"section": "x-assets", "rows": rows, **more})


@xchain_page
def asset(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show an asset: its holders, rights to mint it, and its collectibles in pages (`?after=`, an ID)."""
    asset_id = read_term(text).id
    row = None if asset_id is None else xchain.asset(site.avm, asset_book(site), asset_id)
    if row is None:
        raise Http404(_NO_ASSET)
    after = read_term(request.GET.get("after", "")).id
    pieces, has_more = shown_of(
        xchain.collectibles(site.avm, row, after=after, count=PAGE + 1), PAGE
    )
    context = _framed(
        site,
        row=row,
        holders=xchain.holders(site.avm, row.asset_id) if row.has_coins else None,
        rights=xchain.rights(site.avm, row),
        pieces=[piece for _, piece in pieces],
        looked_at=str(row.asset_id),
        **further_pages(request, "after", str(pieces[-1][0]) if has_more else None),
    )
    context["section"] = "x-assets"
    return rendered(site, request, "x_asset.html", context)


def _decoded(site: Explorer, signed: AvmTx, peer_chain: ID | None) -> dict[str, Any]:
    """Return the context of a transaction that the node can parse."""
    book, found = asset_book(site), moves.moves_of(site.platform, signed.tx_id)
    inputs = xchain.inputs(site.avm, book, signed, found)
    outputs = xchain.created_outputs(site.avm, book, signed, found)
    letter = "" if peer_chain is None else moves.letters(site.platform).get(peer_chain, "")
    operated = {operation.asset_id for operation in operations_of(signed.unsigned)}
    names = SentenceNames(
        f"{letter}-Chain" if letter else f"blockchain {peer_chain}",
        book.names(operated),
        site.avm.address,
    )
    shown = render_tx(signed, site.avm.address)
    memo = signed.unsigned.memo
    return {
        "summary": sentence(signed, inputs, outputs, names),
        "memo": payload_text(memo) if memo else "",
        "inputs": inputs,
        "outputs": outputs,
        **moved(site, found),
        "json": dumps(shown, indent=2, ensure_ascii=False)[:MAX_JSON],
    }


def _undecided(site: Explorer, request: HttpRequest, tx_id: ID) -> HttpResponse:
    decision = xchain.undecided(site.avm, tx_id)
    if decision is None:
        raise Http404(_NO_TRANSACTION)
    state, reason = decision
    context = {"section": "x-txs", "tx_id": tx_id, "state": state, "reason": reason, "chain": "X"}
    return rendered(site, request, "p_tx_undecided.html", context)


def _framed(site: Explorer, **context: Any) -> dict[str, Any]:
    """Return a context for templates that show amounts of the coin."""
    return {"section": "x-txs", "unit": site.platform.network().unit, **context}
