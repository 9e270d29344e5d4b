"""The page of a C-Chain address: its balance, its activity, and its contract."""

from collections.abc import Sequence
from json import loads
from typing import Any, Final, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse

from adminkit.terms import parse_term
from cchain_app.selectors import calls as chain_calls
from explorer_app.names.decoding import DecodedCall
from explorer_app.selectors import accounts, cchain, platform, proxies, tokens, verified
from explorer_app.selectors.accounts import AccountInfo
from explorer_app.selectors.cchain import PAGE
from explorer_app.selectors.verified import CodeInfo
from explorer_app.site import Explorer
from explorer_app.views.cchain import lines
from explorer_app.views.page import (
    NO_PART,
    cchain_page,
    further_pages,
    list_pages,
    read_number,
    rendered,
    shown_of,
)
from explorer_app.views.tokens import transfer_lines
from primitives.evm import Address
from primitives.ids import ShortID

SHOWN: Final = {"": "All", "sent": "Sent", "received": "Received"}
MAX_SOURCE: Final = 64 * 1024
"""Limit of characters of a source file on a page."""

MAX_FILES: Final = 60

_LONGEST_KEY: Final = 74
"""Bytes of the longest key of a balance."""

MAX_CODE: Final = 24 * 1024
"""Limit of bytes of code on a page: the maximum size of a contract."""

_NO_ADDRESS: Final = "This is no address of the C-Chain: one is 0x and 40 hexadecimal digits."


class LoggedEvent(NamedTuple):
    """An event that an address emitted, with its transaction."""

    tx_hash: bytes
    number: int
    """Height of its block."""
    topics: Sequence[bytes]
    data: bytes
    decoded: DecodedCall | None


@cchain_page
def address(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show an address: `?tab=` selects a tab, `?show=` filters transactions, `?before=` selects the page of a list."""
    tab = request.GET.get("tab", "")
    found, context = framed(site, text, tab)
    show = {
        "": _transactions, "tokens": _tokens, "inner": _inner, "events": _events, "contract": _contract,
    }[tab]  # fmt: skip
    return rendered(site, request, "address.html", {**context, **show(site, request, found)})


def framed(site: Explorer, text: str, tab: str) -> tuple[AccountInfo, dict[str, Any]]:
    """Return an account and the context that all tabs of its page share.

    Raises:
        Http404: The text is not an address, or there is no such tab.
    """
    wanted = parse_term(text).address
    if wanted is None:
        raise Http404(_NO_ADDRESS)
    found = accounts.account(site.evm, Address(wanted))
    tabs = _tabs(found)
    if tab not in tabs:
        raise Http404(NO_PART)
    return found, {
        "account": found,
        "looked_at": text,
        "address": Address(wanted),
        "platform_forms": platform.forms_of(site.platform, ShortID(wanted)),
        "unit": site.platform.network().unit,
        "tab": tab,
        "tabs": tabs.items(),
        **_creator(site, found),
    }


def _tabs(found: AccountInfo) -> dict[str, str]:
    tabs = {"": "Transactions", "tokens": "Tokens", "inner": "Inside of transactions"}
    return {**tabs, "events": "Events", "contract": "Contract"} if found.is_contract else tabs


def _creator(site: Explorer, found: AccountInfo) -> dict[str, Any]:
    """Return the creator of a contract, and the transaction of the creation."""
    made = accounts.creator(site.evm, found.address) if found.is_contract else None
    if made is None:
        return {}
    rows = cchain.transactions_by_keys(site.evm, [made.transaction])
    row = rows.get(made.transaction)
    return {"creator": made.creator, "created_by": row}


def _transactions(site: Explorer, request: HttpRequest, found: AccountInfo) -> dict[str, Any]:
    show = request.GET.get("show", "")
    if show not in SHOWN:
        raise Http404(NO_PART)
    listed = cchain.history(
        site.evm,
        found.address,
        sent=show != "received",
        received=show != "sent",
        before=read_number(request.GET.get("before")),
        count=PAGE + 1,
    )
    rows, goes_on = shown_of(listed, PAGE)
    sent, received = cchain.counts(site.evm, found.address)
    more = list_pages(request, rows, lambda row: row.id, goes_on=goes_on)
    return {
        "show": show,
        "shown": SHOWN.items(),
        "rows": lines(site, rows, found.address),
        "sent": sent,
        "received": received,
        **more,
    }


def _tokens(site: Explorer, request: HttpRequest, found: AccountInfo) -> dict[str, Any]:
    before = read_number(request.GET.get("before"))
    listed, rest = tokens.transfers_of(site.evm, found.address, before=before, count=PAGE + 1)
    rows, goes_on = shown_of(listed, PAGE)
    held = tokens.balances_of(site.evm, found.address, after=_read_key(request.GET.get("held")))
    return {
        "balances": held.rows,
        "transfers": transfer_lines(rows, found.address),
        "how_far": tokens.how_far(site.evm),
        **further_pages(request, "held", None if held.rest is None else held.rest.hex()),
        **list_pages(request, rows, lambda row: row.id, goes_on=goes_on, rest=rest),
    }


def _read_key(text: str | None) -> bytes:
    """Return the key of a balance from a query parameter; empty if it is missing or invalid."""
    try:
        return bytes.fromhex(text or "")[:_LONGEST_KEY]
    except ValueError:
        return b""


def _inner(site: Explorer, request: HttpRequest, found: AccountInfo) -> dict[str, Any]:
    before = read_number(request.GET.get("before"))
    listed = accounts.inner_calls(site.evm, found.address, before=before, count=PAGE + 1)
    rows, goes_on = shown_of(listed, PAGE)
    more = list_pages(request, rows, lambda row: row.pk, goes_on=goes_on)
    return {"inner": rows, "how_far": chain_calls.how_far(site.evm), **more}


def _events(site: Explorer, request: HttpRequest, found: AccountInfo) -> dict[str, Any]:
    before = read_number(request.GET.get("before"))
    listed = cchain.logs_by(site.evm, found.address, before=before, count=PAGE + 1)
    rows, goes_on = shown_of(listed, PAGE)
    abi = verified.abi_of(site.evm, found.address)
    events = []
    for row in rows:
        words = (row.topic0, row.topic1, row.topic2, row.topic3)
        topics = [bytes(word) for word in words if word is not None]
        data = bytes(row.data)
        named = site.names.event(topics, data, abi)
        events.append(LoggedEvent(row.transaction.hash, row.block_id, topics, data, named))
    return {"events": events, **list_pages(request, rows, lambda row: row.pk, goes_on=goes_on)}


def _contract(site: Explorer, _request: HttpRequest, found: AccountInfo) -> dict[str, Any]:
    slots = accounts.slots(site.evm, found.address)
    known = verified.known(site.evm, found.address)
    return {
        "known": known,
        "sources": _sources(known),
        "proxy": proxies.proxy(site.evm, found.address),
        "code": found.code[:MAX_CODE],
        "slots": slots[: accounts.SLOTS],
        "has_more_slots": len(slots) > accounts.SLOTS,
    }


def _sources(known: CodeInfo | None) -> list[tuple[str, str]]:
    """Return the files of a verified contract: paths and contents, each truncated."""
    if known is None or known.contract is None:
        return []
    given = loads(known.contract.input).get("sources", {})
    return [(path, str(source.get("content", ""))[:MAX_SOURCE]) for path, source in given.items()][
        :MAX_FILES
    ]
