"""Pages of the P-Chain's blocks, transactions and addresses."""

from json import dumps
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse

from adminkit.terms import read_term
from explorer_app.selectors import platform, staking
from explorer_app.selectors.platform import PAGE
from explorer_app.site import Explorer
from explorer_app.views.format import sentence
from explorer_app.views.page import list_pages, page, read_number, rendered, shown_of
from network_app.selectors import block_proposer
from platform_app.txs.render import render_tx
from primitives.ids import ID

MAX_JSON: Final = 64 * 1024
_NO_BLOCK: Final = (
    "The P-Chain has no block with this height or ID. It may not have reached this height yet."
)
_NO_ID: Final = (
    "Not a P-Chain transaction ID. An ID is a CB58 string of about 50 letters and digits."
)
_NO_TRANSACTION: Final = "This node knows no P-Chain transaction with this ID. It was never sent to this node, or has expired."
_NO_ADDRESS: Final = "Not a P-Chain address. An address is P- followed by a Bech32 string."


@page
def blocks(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the latest blocks, or those below a height (`?before=`)."""
    before = read_number(request.GET.get("before"))
    rows, goes_on = shown_of(platform.blocks(site.platform, before=before, count=PAGE + 1), PAGE)
    more = list_pages(request, rows, lambda row: row.height, goes_on=goes_on)
    return rendered(site, request, "p_blocks.html", {"section": "p-txs", "rows": rows, **more})


@page
def txs(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the latest transactions, or those before one (`?before=`, its key)."""
    before = read_number(request.GET.get("before"))
    rows, goes_on = shown_of(platform.txs(site.platform, before=before, count=PAGE + 1), PAGE)
    more = list_pages(request, rows, lambda row: row.id, goes_on=goes_on)
    return rendered(
        site, request, "p_txs.html", _with_unit(site, section="p-txs", rows=rows, **more)
    )


@page
def block(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show a block by its height or ID, with its transactions starting at an index (`?before=`)."""
    term = read_term(text)
    height_or_id = term.number if term.id is None else term.id
    block = None if height_or_id is None else platform.block(site.platform, height_or_id)
    if block is None:
        raise Http404(_NO_BLOCK)
    first = read_number(request.GET.get("before")) or 0
    rows, goes_on = shown_of(
        platform.txs_of_block(site.platform, block.height, first=first, count=PAGE + 1), PAGE
    )
    more = list_pages(request, rows, lambda row: row.position + 1, goes_on=goes_on)
    tip = site.platform.tip()
    context = _with_unit(
        site,
        section="p-txs",
        found=block,
        tip=tip.height,
        proposer=block_proposer(site.platform.db, "P", block.height),
        rows=rows,
        looked_at=str(block.block_id),
        **more,
    )
    return rendered(site, request, "p_block.html", context)


@page
def tx(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show a transaction by its ID: a description, its inputs and outputs; also a transaction that is not in a block."""
    tx_id = read_term(text).id
    if tx_id is None:
        raise Http404(_NO_ID)
    row_and_bytes = platform.tx(site.platform, tx_id)
    if row_and_bytes is None:
        return _undecided(site, request, tx_id)
    row, raw = row_and_bytes
    signed = platform.read(raw)
    context = _with_unit(
        site, section="p-txs", row=row, raw=raw[:MAX_JSON], size=len(raw), looked_at=str(tx_id),
        period=staking.period_of(site.platform, tx_id),
    )  # fmt: skip
    if signed is not None:
        shown = render_tx(signed, lambda address: platform.text_of(site.platform, address))
        context |= {
            "summary": sentence(signed, context["unit"]),
            "memo": _memo(getattr(signed.unsigned, "memo", b"")),
            "inputs": platform.inputs(site.platform, signed),
            "outputs": platform.created_outputs(site.platform, signed),
            "json": dumps(shown, indent=2, ensure_ascii=False)[:MAX_JSON],
        }
    return rendered(site, request, "p_tx.html", context)


@page
def address(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show the balances of an address on both chains, and its UTXOs in pages (`?after=`, an ID)."""
    address = read_term(text).address
    if address is None:
        raise Http404(_NO_ADDRESS)
    after = read_term(request.GET.get("after", "")).id
    outputs = platform.utxos(site.platform, address, after=after, count=PAGE + 1)
    utxos, goes_on = shown_of(outputs, PAGE)
    context = _with_unit(
        site,
        portfolio=platform.forms_of(site.platform, address),
        evm_form="0x" + bytes(address).hex(),
        utxos=utxos,
        periods=platform.stakes_of(site.platform, address),
        older=f"after={utxos[-1].pk}" if goes_on else "",
        newest="after=" if after else "",
    )
    return rendered(site, request, "p_address.html", context)


def _undecided(site: Explorer, request: HttpRequest, tx_id: ID) -> HttpResponse:
    decision = platform.undecided(site.platform, tx_id)
    if decision is None:
        raise Http404(_NO_TRANSACTION)
    state, reason = decision
    context = {"section": "p-txs", "tx_id": tx_id, "state": state, "reason": reason}
    return rendered(site, request, "p_tx_undecided.html", context)


def _with_unit(site: Explorer, **context: Any) -> dict[str, Any]:
    """Return a context for templates that show amounts in coins."""
    return {"unit": site.platform.network().unit, **context}


def _memo(memo: bytes) -> str:
    try:
        text = memo.decode()
    except UnicodeDecodeError:
        return "0x" + memo.hex()
    return text if text.isprintable() else "0x" + memo.hex()
