"""Common parts of all pages: the view decorators with the Content-Security-Policy, the base template's context, query parameters, and pagination."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from http import HTTPStatus
from typing import Any, Concatenate, Final, ParamSpec, TypeVar
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotFound,
    HttpResponsePermanentRedirect,
    HttpResponseRedirect,
)
from django.template.loader import render_to_string
from django.urls import Resolver404, get_script_prefix, resolve, reverse
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_safe

from cchain_app.forking.errors import UpstreamError
from cchain_app.selectors.blocks import NoGenesis
from explorer_app.apps import explorer
from explorer_app.names.page_names import PageNames
from explorer_app.selectors.chains import why_not
from explorer_app.selectors.labels import labels
from explorer_app.site import MAX_NAME, Explorer
from explorer_app.templatetags.naming import shown
from explorer_app.views.switch import switch_of
from platform_app.chain import NoPlatformGenesis
from primitives.networks import LOCAL, name_of
from primitives.product import NAME
from xchain_app.store.state import NoXChain

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ws: wss:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_SAFE: Final = ("GET", "HEAD")
_MAX_DIGITS: Final = 19
_MAX_REASON: Final = 300
"""Limit of characters of the reason for which a chain does not run."""
_SCRIPT: Final = "HX-Request"
"""The header that htmx sends with its requests."""

_ADMIN_PERMISSION: Final = "platform_app.change_keystoreuser"
_NO_PAGE: Final = "There is no page at this address."
NO_PART: Final = "The page has no such tab or filter."
_NO_CCHAIN: Final = "This node does not run the C-Chain."
_NO_CHAIN: Final = "This node runs no EVM chain with this name or blockchain ID."
_NO_XCHAIN: Final = "This node does not run the X-Chain."

P = ParamSpec("P")
R = TypeVar("R")
View = Callable[..., HttpResponse]
Shown = Callable[Concatenate[Explorer, HttpRequest, P], HttpResponse]


def page(show: Shown[P]) -> View:
    """Make a view of a function that shows a page of this process's explorer.

    The view allows only GET and HEAD, and sets the Content-Security-Policy. It answers with 503 before genesis, and
    if a fork's remote node does not return the state. For an `Http404` the page shows the exception's text.

    The name of an EVM chain in the URL chooses the explorer of this chain. Pages of the C-Chain have no name in their
    URL, so a GET request with one is redirected.
    """
    return require_safe(_view(show))


def _view(show: Shown[P]) -> View:
    @wraps(show)
    def view(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        site = explorer()
        try:
            name = kwargs.pop("chain_name", None)
            if name is not None:
                site = chosen(site, str(name))
                if site.is_of_cchain and request.method in _SAFE:
                    return HttpResponseRedirect(_without_name(request))
            shown = partial(show, site, request, *args, **kwargs)
            response = site.evm.db.on_replica(shown) if request.method in _SAFE else shown()
        except Http404 as error:
            response = _missing(site, request, str(error))
        except (NoGenesis, NoPlatformGenesis, NoXChain):
            response = not_now(request, "the chain has no genesis yet")
        except UpstreamError as error:
            response = not_now(request, str(error))
        return _with_headers(response)

    return view


def chosen(site: Explorer, name: str) -> Explorer:
    """Return the explorer of the EVM chain that a URL names.

    Raises:
        Http404: The node runs no such chain; the text says why, if it is the chain of a subnet.
    """
    found = site.find(name)
    if found is None:
        reason = why_not(site.platform, name[:MAX_NAME])
        raise Http404(f"The chain does not run: {reason[:_MAX_REASON]}." if reason else _NO_CHAIN)
    return found


def _without_name(request: HttpRequest) -> str:
    """Return the URL of the C-Chain's page for a request that names this chain."""
    match = request.resolver_match
    assert match is not None
    assert match.url_name is not None
    kwargs = {key: value for key, value in match.kwargs.items() if key != "chain_name"}
    page = reverse(f"explorer:{match.url_name.removeprefix('chain-')}", kwargs=kwargs or None)
    query = request.META["QUERY_STRING"]
    return f"{page}?{query}" if query else page


def _with_headers(response: HttpResponse) -> HttpResponse:
    response["Content-Security-Policy"] = _POLICY
    # Otherwise a browser that navigates back could show a partial response as the whole page.
    patch_vary_headers(response, [_SCRIPT])
    return response


def _missing(site: Explorer, request: HttpRequest, message: str = "") -> HttpResponse:
    """Return the page that says why nothing was found."""
    context = {"message": message or _NO_PAGE}
    return rendered(site, request, "not_found.html", context, HTTPStatus.NOT_FOUND)


def no_page(request: HttpRequest) -> HttpResponse:
    """Return the explorer's page for a path that does not exist."""
    return _with_headers(_missing(explorer(), request))


def not_now(request: HttpRequest, message: str) -> HttpResponse:
    """Return the reason why a page is unavailable now: as a page for browsers, as a line of text for programs."""
    if "text/html" in request.headers.get("Accept", ""):
        response = HttpResponse(render_to_string("503.html", {"reason": message}))
    else:
        response = HttpResponse(f"{message}\n", "text/plain; charset=utf-8")
    response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
    response["Retry-After"] = "1"
    return response


def form_page(show: Shown[P]) -> View:
    """Make a page that also accepts a POST from any site, because it needs no permission of the visitor."""
    view: View = csrf_exempt(require_http_methods(["GET", "HEAD", "POST"])(_view(show)))
    return view


def admin_page(show: Shown[P]) -> View:
    """Make a page with a form for users of the admin who may change keystore users, as for the admin's L1 steps.

    Others are sent to the admin's login. A POST needs the token of this site's forms.
    """

    @wraps(show)
    def shown(
        site: Explorer, request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        if not admin.site.has_permission(request):
            return redirect_to_login(request.get_full_path(), reverse("admin:login"))
        user = request.user
        if not (isinstance(user, User) and user.has_perm(_ADMIN_PERMISSION)):
            message = "Your account may not change keystore users, which this page needs."
            return rendered(site, request, "not_found.html", {"message": message}, 403)
        response = show(site, request, *args, **kwargs)
        add_never_cache_headers(response)
        return response

    view: View = csrf_protect(require_http_methods([*_SAFE, "POST"])(_view(shown)))
    return view


def cchain_page(show: Shown[P]) -> View:
    """Make a page of the C-Chain or another EVM chain, which does not exist on a node that does not run the chain."""
    return page(_of_cchain(show))


def xchain_page(show: Shown[P]) -> View:
    """Make a page of the X-Chain, which does not exist on a node that does not run it."""

    @wraps(show)
    def shown_on_xchain(
        site: Explorer, request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        if not site.has_xchain:
            raise Http404(_NO_XCHAIN)
        return show(site, request, *args, **kwargs)

    return page(shown_on_xchain)


def cchain_form_page(show: Shown[P]) -> View:
    """Make a page of the C-Chain that also accepts a POST, as `form_page`."""
    return form_page(_of_cchain(show))


def is_part(request: HttpRequest) -> bool:
    """Return whether htmx requests a part of the page, to insert it into the open page."""
    return request.headers.get(_SCRIPT) == "true"


def _of_cchain(show: Shown[P]) -> Shown[P]:
    @wraps(show)
    def shown(
        site: Explorer, request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        if not site.has_evm:
            raise Http404(_NO_CCHAIN)
        return show(site, request, *args, **kwargs)

    return shown


def rendered(
    site: Explorer,
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any],
    status: int = 200,
) -> HttpResponse:
    """Return a page with the base template's context, and with the names of the contracts whose addresses it shows."""
    network = site.node.network_id
    prefix = get_script_prefix().removesuffix("/")
    own = f"{prefix}/" if prefix else ""
    switch = switch_of(site)
    frame = {
        "prefix": prefix,
        "rpc_path": own if site.is_of_cchain else f"{prefix}{site.rpc_path}/rpc",
        "chain_rpc": f"{prefix}{site.rpc_path}",
        "product": NAME,
        "network_name": name_of(network),
        "coin_symbol": site.evm.coin_symbol,
        "coin_name": site.evm.coin_name,
        "is_local": network == LOCAL,
        "has_evm": site.has_evm,
        "has_xchain": site.has_xchain,
        "has_statistics": site.has_statistics,
        "has_faucet": site.has_faucet,
        "pages": site.pages,
        "chain_title": site.evm.title,
        "is_of_cchain": site.is_of_cchain,
        "switch": switch,
        "admin_chain": site.evm.name if switch.links else "",
    }
    names = PageNames()
    html = render_to_string(f"explorer/{template}", {**frame, **context, "names": names}, request)
    found = labels(site.evm, names.addresses) if names.addresses else {}
    filled = names.fill(
        html, lambda address, form: shown(address, found.get(address), form, site.pages)
    )
    return HttpResponse(filled, status=status)


def name_for_wallets(site: Explorer) -> str:
    """Return the name under which wallets list the EVM chain of the pages."""
    network = f"{NAME} {name_of(site.node.network_id)}"
    return network if site.is_of_cchain else f"{network} {site.evm.title}"


def read_number(text: str | None) -> int | None:
    """Return a number from a query parameter; None if it is missing, or not a number below 10^19."""
    if text is None or not text.isdecimal() or len(text) > _MAX_DIGITS:
        return None
    return min(int(text), 2**63 - 1)


def shown_of(rows: Sequence[R], count: int) -> tuple[Sequence[R], bool]:
    """Return the rows for a page, and whether there are more; one row more than fits must have been queried."""
    return rows[:count], len(rows) > count


def list_pages(
    request: HttpRequest,
    rows: Sequence[R],
    key: Callable[[R], int],
    *,
    has_more: bool,
    next_key: int | None = None,
) -> dict[str, str]:
    """Return the query strings of the links to older and newest rows, for the template `_pages.html`.

    Args:
        request: The request; its other parameters are kept.
        rows: The rows on the page.
        key: Returns the key of a row; the next page starts before the last row's key.
        has_more: Whether there are more rows.
        next_key: The key before which the list continues although no further rows were found; None at the end.
    """
    others = {name: value for name, value in request.GET.items() if name != "before"}
    last = key(rows[-1]) if has_more else next_key
    older = "" if last is None else urlencode({**others, "before": last})
    newest = urlencode(others) or "before=" if "before" in request.GET else ""
    return {"older": older, "newest": newest}


def further_pages(request: HttpRequest, name: str, value: int | str | None) -> dict[str, str]:
    """Return the links of a list that is not ordered by time, for `_further.html`; `value` is None at the end."""
    others = {key: text for key, text in request.GET.items() if key != name}
    return {
        "further": "" if value is None else urlencode({**others, name: value}),
        "beginning": urlencode(others) if name in request.GET else "",
    }


_OTHERS: Final = {"api", "ext", "server", "static", "v2"}
"""First segments of the paths of programs and files."""


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request for an unknown path, as Django's `handler404`."""
    first = request.path_info.strip("/").partition("/")[0]
    if first == "admin":
        return defaults.page_not_found(request, exception)
    if first in _OTHERS or request.method not in {"GET", "HEAD"}:
        return HttpResponseNotFound("404 page not found\n", "text/plain; charset=utf-8")
    page = _page_without_slash(request.path_info)
    if page is None:
        return no_page(request)
    query = request.META["QUERY_STRING"]
    return HttpResponsePermanentRedirect(f"{page}?{query}" if query else page)


def _page_without_slash(path: str) -> str | None:
    """Return the URL of the explorer's page that a path names if its final slashes are removed."""
    if not path.endswith("/"):
        return None
    try:
        match = resolve(path.rstrip("/"))
    except Resolver404:
        return None
    if match.app_names[:1] != ["explorer"] or match.url_name is None:
        return None
    # Built from its parts, so that the redirect cannot lead to another host.
    return reverse(match.view_name, args=match.args, kwargs=match.kwargs)
