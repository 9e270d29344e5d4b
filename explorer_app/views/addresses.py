"""The page of an EVM address: its balance, its activity, and its contract."""

from collections.abc import Sequence
from json import loads
from typing import Any, Final, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse

from adminkit.terms import parse_term
from cchain_app.selectors import calls as chain_calls
from cchain_app.services import calls
from explorer_app.names.decoding import DecodedCall
from explorer_app.selectors import accounts, cchain, moves, platform, proxies, tokens, verified
from explorer_app.selectors.accounts import AccountInfo
from explorer_app.selectors.cchain import PAGE
from explorer_app.selectors.verified import CodeInfo
from explorer_app.services import indexes
from explorer_app.site import Explorer
from explorer_app.views.answers import PageContracts
from explorer_app.views.cchain import transaction_rows
from explorer_app.views.page import (
    NO_PART,
    cchain_page,
    further_pages,
    list_pages,
    read_number,
    rendered,
    shown_of,
)
from explorer_app.views.tokens import transfer_rows
from primitives.evm import Address
from primitives.ids import ShortID

SHOWN: Final = {"": "All", "sent": "Sent", "received": "Received"}
SHOWN_TRANSFERS: Final = {"": "All", "confirmed": "Without doubtful ones"}
MAX_SOURCE: Final = 64 * 1024
"""Limit of characters of a source file on a page."""

MAX_FILES: Final = 60

_LONGEST_KEY: Final = 74
"""Bytes of the longest key of a balance."""

MAX_CODE: Final = 24 * 1024
"""Limit of bytes of code on a page: the maximum size of a contract."""

_NO_ADDRESS: Final = "Not an EVM address. An address is 0x followed by 40 hexadecimal digits."


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
    account, context = framed(site, text, tab)
    show = {
        "": _transactions, "imports": _imports, "tokens": _tokens, "inner": _inner, "events": _events, "contract": _contract,
    }[tab]  # fmt: skip
    return rendered(site, request, "address.html", {**context, **show(site, request, account)})


def framed(site: Explorer, text: str, tab: str) -> tuple[AccountInfo, dict[str, Any]]:
    """Return an account and the context that all tabs of its page share.

    Raises:
        Http404: The text is not an address, or there is no such tab.
    """
    wanted_address = parse_term(text).address
    if wanted_address is None:
        raise Http404(_NO_ADDRESS)
    account = accounts.account(site.evm, Address(wanted_address))
    tabs = _tabs(account, has_imports=site.is_of_cchain)
    if tab not in tabs:
        raise Http404(NO_PART)
    return account, {
        "account": account,
        "looked_at": text,
        "address": Address(wanted_address),
        "platform_forms": platform.forms_of(site.platform, ShortID(wanted_address))
        if site.is_of_cchain
        else None,
        "unit": site.platform.network().unit,
        "tab": tab,
        "tabs": tabs.items(),
        "proxy": proxies.proxy(site.evm, account.address) if account.is_contract else None,
        **_creator(site, account),
    }


def _tabs(account: AccountInfo, *, has_imports: bool) -> dict[str, str]:
    tabs = {"": "Transactions", "tokens": "Tokens", "inner": "Internal transactions"}
    if has_imports:
        tabs["imports"] = "Imports"
    return {**tabs, "events": "Events", "contract": "Contract"} if account.is_contract else tabs


def _creator(site: Explorer, account: AccountInfo) -> dict[str, Any]:
    """Return the creator of a contract, and the transaction of the creation."""
    if not account.is_contract:
        return {}
    creation = accounts.creator(site.evm, account.address)
    if creation is None and calls.wait_for_calls(site.evm):
        creation = accounts.creator(site.evm, account.address)
    if creation is None:
        return {}
    rows = cchain.transactions_by_keys(site.evm, [creation.transaction])
    row = rows.get(creation.transaction)
    return {"creator": creation.creator, "created_by": row}


def _transactions(site: Explorer, request: HttpRequest, account: AccountInfo) -> dict[str, Any]:
    show = request.GET.get("show", "")
    if show not in SHOWN:
        raise Http404(NO_PART)
    transactions = cchain.history(
        site.evm,
        account.address,
        sent=show != "received",
        received=show != "sent",
        before=read_number(request.GET.get("before")),
        count=PAGE + 1,
    )
    rows, has_more = shown_of(transactions, PAGE)
    sent, received = cchain.counts(site.evm, account.address)
    more = list_pages(request, rows, lambda row: row.id, has_more=has_more)
    return {
        "show": show,
        "shown": SHOWN.items(),
        "rows": transaction_rows(site, rows, account.address),
        "sent": sent,
        "received": received,
        **more,
    }


def _imports(site: Explorer, request: HttpRequest, account: AccountInfo) -> dict[str, Any]:
    before = read_number(request.GET.get("before"))
    found = moves.credits_to(site.evm, account.address, before=before, count=PAGE + 1)
    rows, has_more = shown_of(found, PAGE)
    more = list_pages(request, rows, lambda row: row.index, has_more=has_more)
    return {"imports": rows, **more}


def _tokens(site: Explorer, request: HttpRequest, account: AccountInfo) -> dict[str, Any]:
    indexes.wait_for_tokens(site, balances=True)
    before, show = read_number(request.GET.get("before")), request.GET.get("show", "")
    if show not in SHOWN_TRANSFERS:
        raise Http404(NO_PART)
    transfers, next_key = tokens.transfers_of(
        site.evm, account.address, doubtful=not show, before=before, count=PAGE + 1
    )
    rows, has_more = shown_of(transfers, PAGE)
    balances = tokens.balances_of(
        site.evm, account.address, after=_read_key(request.GET.get("held"))
    )
    return {
        "show": show,
        "shown": SHOWN_TRANSFERS.items(),
        "balances": balances.rows,
        "transfers": transfer_rows(rows, account.address),
        "how_far": tokens.how_far(site.evm),
        **further_pages(
            request, "held", None if balances.next_key is None else balances.next_key.hex()
        ),
        **list_pages(request, rows, lambda row: row.id, has_more=has_more, next_key=next_key),
    }


def _read_key(text: str | None) -> bytes:
    """Return the key of a balance from a query parameter; empty if it is missing or invalid."""
    try:
        return bytes.fromhex(text or "")[:_LONGEST_KEY]
    except ValueError:
        return b""


def _inner(site: Explorer, request: HttpRequest, account: AccountInfo) -> dict[str, Any]:
    calls.wait_for_calls(site.evm)
    before = read_number(request.GET.get("before"))
    inner = accounts.inner_calls(site.evm, account.address, before=before, count=PAGE + 1)
    rows, has_more = shown_of(inner, PAGE)
    more = list_pages(request, rows, lambda row: row.pk, has_more=has_more)
    return {"inner": rows, "how_far": chain_calls.how_far(site.evm), **more}


def _events(site: Explorer, request: HttpRequest, account: AccountInfo) -> dict[str, Any]:
    before = read_number(request.GET.get("before"))
    logs = cchain.logs_by(site.evm, account.address, before=before, count=PAGE + 1)
    rows, has_more = shown_of(logs, PAGE)
    contract = PageContracts(site, [account.address])
    events = []
    for row in rows:
        words = (row.topic0, row.topic1, row.topic2, row.topic3)
        topics = [bytes(word) for word in words if word is not None]
        data = bytes(row.data)
        named = contract.event(account.address, topics, data)
        events.append(LoggedEvent(row.transaction.hash, row.block_id, topics, data, named))
    return {"events": events, **list_pages(request, rows, lambda row: row.pk, has_more=has_more)}


def _contract(site: Explorer, _request: HttpRequest, account: AccountInfo) -> dict[str, Any]:
    slots = accounts.slots(site.evm, account.address)
    info = verified.code_info(site.evm, account.address)
    return {
        "known": info,
        "sources": _sources(info),
        "code": account.code[:MAX_CODE],
        "slots": slots[: accounts.SLOTS],
        "has_more_slots": len(slots) > accounts.SLOTS,
    }


def _sources(info: CodeInfo | None) -> list[tuple[str, str]]:
    """Return the files of a verified contract: paths and contents, each truncated."""
    if info is None or info.contract is None:
        return []
    sources = loads(info.contract.input).get("sources", {})
    return [
        (path, str(source.get("content", ""))[:MAX_SOURCE]) for path, source in sources.items()
    ][:MAX_FILES]
