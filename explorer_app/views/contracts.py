"""The list of verified contracts, and its search."""

from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse

from adminkit.terms import parse_term
from explorer_app.selectors.contract_list import (
    PAGE,
    NamePlace,
    VerifiedRow,
    contracts_at,
    contracts_by_name,
    latest_contracts,
)
from explorer_app.site import Explorer
from explorer_app.views.page import cchain_page, list_pages, read_number, rendered, shown_of
from primitives.evm import Address

_MAX_TEXT: Final = 200


@cchain_page
def contracts(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show verified contracts, the latest first; `?name=` searches by an address or by the beginning of a name."""
    text = request.GET.get("name", "").strip()[:_MAX_TEXT]
    found = _found(site, request, text) if text else _latest(site, request)
    context = {
        "section": "contracts",
        "text": text,
        "chain_id": site.evm.config.chain_id,
        "host": request.get_host(),
        **found,
    }
    return rendered(site, request, "contracts.html", context)


def _latest(site: Explorer, request: HttpRequest) -> dict[str, Any]:
    before = read_number(request.GET.get("before"))
    rows, has_more = shown_of(latest_contracts(site.evm, before=before, count=PAGE + 1), PAGE)
    return {"rows": rows, **list_pages(request, rows, lambda row: row.id, has_more=has_more)}


def _found(site: Explorer, request: HttpRequest, text: str) -> dict[str, Any]:
    address = parse_term(text).address
    if address is not None:
        return {"rows": contracts_at(site.evm, Address(address))}
    after = _read_place(request.GET.get("after"))
    rows, has_more = shown_of(contracts_by_name(site.evm, text, after=after, count=PAGE + 1), PAGE)
    beginning = "" if after is None else urlencode({"name": text})
    return {
        "rows": rows,
        "beginning": beginning,
        "further": _further(text, rows[-1]) if has_more else "",
    }


def _further(text: str, last: VerifiedRow) -> str:
    return urlencode({"name": text, "after": f"{bytes(last.name_key or b'').hex()}-{last.id}"})


def _read_place(text: str | None) -> NamePlace | None:
    key, _, number = (text or "").partition("-")
    last = read_number(number)
    try:
        return None if last is None else NamePlace(bytes.fromhex(key), last)
    except ValueError:
        return None
