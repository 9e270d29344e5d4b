"""The faucet: a page with a form, and JSON for programs."""

from collections.abc import Mapping
from enum import StrEnum
from http import HTTPStatus
from json import JSONDecodeError, loads
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse

from explorer_app.services.faucet import FaucetError, FaucetReason, TooOften
from explorer_app.site import Explorer
from explorer_app.views.page import form_page, rendered
from jsonrpc.dispatch.caller import is_named
from jsonrpc.http.replies import read_head

_JSON: Final = "application/json"
_MAX_TEXT: Final = 120
_STATUS: Final[Mapping[StrEnum, HTTPStatus]] = {
    FaucetReason.NO_ADDRESS: HTTPStatus.BAD_REQUEST,
    FaucetReason.NOT_ON_CHAIN: HTTPStatus.BAD_REQUEST,
    FaucetReason.NO_COINS: HTTPStatus.SERVICE_UNAVAILABLE,
    FaucetReason.TOO_OFTEN: HTTPStatus.TOO_MANY_REQUESTS,
    FaucetReason.FOREIGN_PAGE: HTTPStatus.FORBIDDEN,
    FaucetReason.NOT_GIVEN: HTTPStatus.SERVICE_UNAVAILABLE,
}


@form_page
def faucet(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the form; for a POST with `address`, as a form or as JSON, send coins and answer in the same format."""
    if site.faucet is None:
        raise Http404("This node has no faucet.")
    if not site.has_faucet:
        raise Http404(f"The faucet's account has no coins in the genesis of {site.evm.title}.")
    context: dict[str, Any] = {"section": "faucet", "coins": site.faucet.coins}
    if request.method != "POST":
        return rendered(site, request, "faucet.html", context)
    wants_json = request.content_type == _JSON
    address = _address(request, wants_json=wants_json)
    try:
        if site.faucet.is_private:
            _verify_page(site, request)
        client = site.rpc().gate.client(read_head(request))
        payment = site.faucet.give(address, client, site.evm)
    except FaucetError as error:
        status = _STATUS[error.reason]
        if wants_json:
            response: HttpResponse = JsonResponse({"error": str(error)}, status=status)
        else:
            context |= {"address": address, "error": str(error)}
            response = rendered(site, request, "faucet.html", context, status)
        if isinstance(error, TooOften):
            response["Retry-After"] = str(error.seconds)
        return response
    if wants_json:
        return JsonResponse(payment._asdict())
    return rendered(site, request, "faucet.html", {**context, "given": payment})


def _verify_page(site: Explorer, request: HttpRequest) -> None:
    """Reject requests from web pages of other sites: they could use the operator's key through a visitor's browser.

    Raises:
        FaucetError: The page belongs to another site, and NODE_ALLOWED_ORIGINS does not name its
            origin.
    """
    headers = read_head(request).headers
    origin, host = headers.get(b"origin", b""), headers.get(b"host", b"")
    is_own = bool(host) and origin.lower().partition(b"://")[2] == host.lower()
    if origin and not is_own and not is_named(origin, site.node.allowed_origins):
        raise FaucetError(FaucetReason.FOREIGN_PAGE)


def _address(request: HttpRequest, *, wants_json: bool) -> str:
    """Return the submitted address, truncated; empty if it is missing."""
    if not wants_json:
        return request.POST.get("address", "").strip()[:_MAX_TEXT]
    try:
        fields = loads(request.body)
    except (JSONDecodeError, UnicodeDecodeError, RecursionError):
        return ""
    text = fields.get("address", "") if isinstance(fields, dict) else ""
    return text.strip()[:_MAX_TEXT] if isinstance(text, str) else ""
