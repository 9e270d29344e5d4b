"""The page of an import or export of the C-Chain, and its rows on other pages."""

from collections.abc import Sequence
from json import dumps
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse

from adminkit.terms import read_term
from cchain_app.atomic.render import render_tx
from cchain_app.atomic.transactions import UnsignedExportTx, parse
from explorer_app.selectors import cchain, moves
from explorer_app.selectors.assets import AssetBook
from explorer_app.selectors.moves import AtomicRow, Move
from explorer_app.site import Explorer
from explorer_app.views.page import cchain_page, rendered
from primitives.ids import ShortID

MAX_JSON: Final = 64 * 1024
_NO_ID: Final = (
    "Not the ID of an import or export. An ID is a CB58 string of about 50 letters and digits."
)
_NO_TRANSACTION: Final = "The C-Chain has accepted no import or export with this ID."


@cchain_page
def atomic_tx(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show an import or export of the C-Chain by its ID: the accounts, and both ends of each move."""
    tx_id = read_term(text).id
    if tx_id is None:
        raise Http404(_NO_ID)
    row_and_bytes = moves.atomic_tx(site.evm, tx_id)
    if row_and_bytes is None:
        raise Http404(_NO_TRANSACTION)
    row, raw = row_and_bytes
    block = cchain.block(site.evm, row.height)
    assert block is not None, "blocks with imports and exports are never removed"
    signed = parse(raw)
    unsigned = signed.unsigned
    context = {
        "section": "blocks",
        "row": row,
        "time": block.timestamp,
        "summary": _summary(site, row),
        "credited": moves.credits_of(site.evm, row) if row.is_import else (),
        "debited": unsigned.inputs if isinstance(unsigned, UnsignedExportTx) else (),
        "json": dumps(render_tx(signed), indent=2)[:MAX_JSON],
        "raw": raw[:MAX_JSON],
        "looked_at": str(tx_id),
        **moved(site, moves.moves_of(site.platform, tx_id)),
    }
    return rendered(site, request, "atomic.html", context)


def moved(site: Explorer, found: Sequence[Move]) -> dict[str, Any]:
    """Return the context of `_moves.html`."""
    asset_ids = {move.asset_id for move in found if move.asset_id is not None}
    return {
        "moves": found,
        "assets": asset_book(site).names(asset_ids) if found else {},
        "unit": site.platform.network().unit,
    }


def waiting_for(site: Explorer, address: ShortID) -> dict[str, Any]:
    """Return the context of `_waiting.html` for an address, which is the same on all chains of the Primary Network."""
    found = moves.waiting_outputs_of(site.platform, address)
    asset_ids = {output.move.asset_id for output in found if output.move.asset_id is not None}
    return {"waiting": found, "assets": asset_book(site).names(asset_ids) if found else {}}


def asset_book(site: Explorer) -> AssetBook:
    """Return the names of the assets that the node knows."""
    return AssetBook(site.platform, site.avm if site.has_xchain else None, site.node)


def atomic_rows(site: Explorer, number: int) -> dict[str, Any]:
    """Return the context of `_atomic_txs.html` for a block of the C-Chain."""
    rows = moves.atomic_txs_of_block(site.evm, number)
    if not rows:
        return {}
    return {
        "atomic": [(row, _other(site, row)) for row in rows],
        "unit": site.platform.network().unit,
    }


def _summary(site: Explorer, row: AtomicRow) -> str:
    verb, way = ("Imports", "from") if row.is_import else ("Exports", "to")
    return f"{verb} {asset_book(site).coin.amount(row.amount)} {way} the {_other(site, row)}"


def _other(site: Explorer, row: AtomicRow) -> str:
    letter = moves.letters(site.platform).get(row.peer_chain, "")
    return f"{letter}-Chain" if letter else f"blockchain {row.peer_chain}"
