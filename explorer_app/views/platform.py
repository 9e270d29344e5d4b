"""Pages of the P-Chain: blocks, transactions, addresses, validators, subnets and supply."""

from json import dumps
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse

from adminkit.terms import read_term
from explorer_app.selectors import l1, moves, platform, staking
from explorer_app.selectors.platform import PAGE
from explorer_app.site import Explorer
from explorer_app.views import l1 as l1_pages
from explorer_app.views.format import Coin, sentence
from explorer_app.views.moves import moved, waiting_for
from explorer_app.views.page import list_pages, page, read_number, rendered, shown_of
from network_app.selectors import block_proposer
from platform_app.selectors import stakers
from platform_app.txs.render import render_tx
from primitives.evm import Address
from primitives.hexadecimal import checksum_address
from primitives.ids import ID, PRIMARY_NETWORK_ID

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
    rows, has_more = shown_of(platform.blocks(site.platform, before=before, count=PAGE + 1), PAGE)
    more = list_pages(request, rows, lambda row: row.height, has_more=has_more)
    return rendered(site, request, "p_blocks.html", {"section": "p-txs", "rows": rows, **more})


@page
def txs(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the latest transactions, or those before one (`?before=`, its key)."""
    before = read_number(request.GET.get("before"))
    rows, has_more = shown_of(platform.txs(site.platform, before=before, count=PAGE + 1), PAGE)
    more = list_pages(request, rows, lambda row: row.id, has_more=has_more)
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
    rows, has_more = shown_of(
        platform.txs_of_block(site.platform, block.height, first=first, count=PAGE + 1), PAGE
    )
    more = list_pages(request, rows, lambda row: row.position + 1, has_more=has_more)
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
        found = moves.moves_of(site.platform, tx_id)
        context |= moved(site, found)
        chains = {
            chain_id: f"the {letter}-Chain"
            for chain_id, letter in moves.letters(site.platform).items()
        }
        context |= {
            "summary": sentence(signed, Coin(context["unit"], site.node.coin_symbol, chains)),
            "validations": l1.validations_of_tx(signed),
            "memo": _memo(getattr(signed.unsigned, "memo", b"")),
            "inputs": platform.inputs(site.platform, signed, found),
            "outputs": platform.created_outputs(site.platform, signed, found),
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
    utxos, has_more = shown_of(outputs, PAGE)
    context = _with_unit(
        site,
        **waiting_for(site, address),
        x_form=site.avm.address(address) if site.has_xchain else "",
        portfolio=platform.forms_of(site.platform, address),
        evm_form=checksum_address(Address(bytes(address))),
        utxos=utxos,
        periods=platform.stakes_of(site.platform, address),
        older=f"after={utxos[-1].pk}" if has_more else "",
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


MAX_ROWS: Final = 100
"""Limit of rows in a list of validators."""

_NO_NODE_ID: Final = "Not a node ID. A node ID is NodeID- followed by a CB58 string."
_NO_VALIDATOR: Final = (
    "No node with this ID has ever been a validator, of the Primary Network or of an L1."
)
_NO_SUBNET: Final = "There is no subnet with this ID."


@page
def validators(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the current validators of the Primary Network by stake, starting at a rank (`?after=`)."""
    return _validators(site, request, "validators.html", {"section": "validators"})


@page
def validator(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show a node: its current validation, its delegators, and its earlier staking periods."""
    node_id = read_term(text).node_id
    if node_id is None:
        raise Http404(_NO_NODE_ID)
    periods = staking.periods(site.platform, node_id, delegators=False, count=MAX_ROWS)
    validations = l1.of_node(site.platform, node_id)
    if not periods and not validations:
        raise Http404(_NO_VALIDATOR)
    rows = {row.validator.node_id: row for row in staking.validators(site.platform)}
    context = {
        "section": "validators",
        "node": str(node_id),
        "looked_at": str(node_id),
        "current": rows.get(node_id),
        "is_own": str(node_id) == site.node_id(),
        "total": stakers.current_validators(site.platform).weight,
        "periods": periods,
        "validations": validations,
        "delegators": staking.periods(site.platform, node_id, delegators=True, count=MAX_ROWS),
        "unit": site.platform.network().unit,
    }
    return rendered(site, request, "validator.html", context)


@page
def calendar(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the stakers whose periods end next, with their rewards, starting at an offset (`?after=`)."""
    after = read_number(request.GET.get("after")) or 0
    stakers_by_end = staking.ending(site.platform, after=after, count=staking.PAGE + 1)
    rows, has_more = shown_of(stakers_by_end, staking.PAGE)
    context = {
        "section": "validators",
        "rows": rows,
        "older": f"after={after + len(rows)}" if has_more else "",
        "newest": "after=0" if after else "",
        "unit": site.platform.network().unit,
    }
    return rendered(site, request, "calendar.html", context)


@page
def supply(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show supply and stake over time."""
    context = {
        "section": "validators",
        "supply": staking.supply(site.platform),
        "stake": stakers.current_validators(site.platform).weight,
        "stake_points": staking.stake_over_time(site.platform),
        "supply_points": staking.supply_over_time(site.platform),
        "unit": site.platform.network().unit,
    }
    return rendered(site, request, "supply.html", context)


@page
def supply_figures(site: Explorer, _request: HttpRequest) -> HttpResponse:
    """Return supply and stake over time for the chart: times in Unix seconds, amounts in coins.

    Each time occurs once, with its last amount: the chart would leave out all but the first.
    """
    unit = site.platform.network().unit
    series = {
        "supply": staking.supply_over_time(site.platform),
        "stake": staking.stake_over_time(site.platform),
    }
    last_at = {
        name: {point.time: point.value / unit for point in points}
        for name, points in series.items()
    }
    return JsonResponse(
        {name: [list(values), list(values.values())] for name, values in last_at.items()}
    )


@page
def subnets(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the subnets, and the blockchains of the Primary Network."""
    rows = platform.subnets(site.platform)
    counts = l1.counts(site.platform, [ID(row.pk) for row in rows])
    context = {
        "section": "subnets",
        "subnets": [(row, counts[ID(row.pk)]) for row in rows],
        "active": l1.active_count(site.platform),
        "chains": platform.blockchains(site.platform, PRIMARY_NETWORK_ID),
    }
    return rendered(site, request, "subnets.html", context)


@page
def subnet(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show a subnet: its control keys, its blockchains, and its validators starting at a rank (`?after=`).

    For an L1 also its manager, and the balances of its validators.
    """
    subnet_id = read_term(text).id
    row = None if subnet_id is None else platform.subnet(site.platform, subnet_id)
    if row is None or subnet_id is None:
        raise Http404(_NO_SUBNET)
    context = {
        "section": "subnets",
        "subnet": row,
        "looked_at": str(subnet_id),
        "keys": platform.control_keys(site.platform, row),
        "chains": platform.blockchains(site.platform, subnet_id),
        **l1_pages.of_subnet(site, subnet_id, after=read_number(request.GET.get("after")) or 0),
    }
    return _validators(site, request, "subnet.html", context, subnet_id)


def _validators(
    site: Explorer,
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    subnet_id: Any = PRIMARY_NETWORK_ID,
) -> HttpResponse:
    after = read_number(request.GET.get("after")) or 0
    all_validators = staking.validators(site.platform, subnet_id)
    rows = all_validators[after : after + MAX_ROWS]
    list_context = {
        "validators": rows,
        "count": len(all_validators),
        "total": stakers.current_validators(site.platform, subnet_id).weight,
        "is_subnet": subnet_id != PRIMARY_NETWORK_ID,
        "older": f"after={after + MAX_ROWS}" if after + MAX_ROWS < len(all_validators) else "",
        "newest": "after=0" if after else "",
        "unit": site.platform.network().unit,
    }
    return rendered(site, request, template, {**context, **list_context})
