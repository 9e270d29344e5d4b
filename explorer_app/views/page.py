"""What all pages have in common: the frame around them, how they are read from the address, and where lists go on."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from http import HTTPStatus
from typing import Any, Concatenate, Final, ParamSpec, TypeVar
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import get_script_prefix
from django.utils.cache import patch_vary_headers
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from cchain_app.forking.errors import UpstreamError
from cchain_app.selectors.blocks import NoGenesis
from explorer_app.apps import explorer
from explorer_app.site import Explorer
from platform_app.chain import NoGenesis as NoPlatformGenesis
from primitives.networks import LOCAL, name_of
from primitives.product import NAME

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ws: wss:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_MOST_DIGITS: Final = 19
_SCRIPT: Final = "HX-Request"
"""The header by which htmx says that it asks."""

_NO_PAGE: Final = "There is no page at this address."
NO_PART: Final = "There is a page of this, but it has no such part."
_NO_CCHAIN: Final = "This node takes no part in the C-Chain."

P = ParamSpec("P")
R = TypeVar("R")
View = Callable[..., HttpResponse]
Shown = Callable[Concatenate[Explorer, HttpRequest, P], HttpResponse]


def page(show: Shown[P]) -> View:
    """Make a view of a function that shows something of this process' explorer.

    Nothing but GET and HEAD; what scripts, styles and connections a page may have stands in its headers; a chain
    without a genesis is a page that is not there yet (503), and so is what a fork's other chain does not tell.
    Of an `Http404` the page shows the words.
    """
    return require_safe(_view(show))


def _view(show: Shown[P]) -> View:
    @wraps(show)
    def view(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            response = show(explorer(), request, *args, **kwargs)
        except Http404 as error:
            response = _missing(explorer(), request, str(error))
        except (NoGenesis, NoPlatformGenesis):
            response = _not_now("the chain has no genesis yet")
        except UpstreamError as error:
            response = _not_now(str(error))
        return _with_headers(response)

    return view


def _with_headers(response: HttpResponse) -> HttpResponse:
    response["Content-Security-Policy"] = _POLICY
    # Else a browser that goes back could show a part as if it were the page.
    patch_vary_headers(response, [_SCRIPT])
    return response


def _missing(site: Explorer, request: HttpRequest, words: str = "") -> HttpResponse:
    """Return the page that says why nothing is found."""
    context = {"words": words or _NO_PAGE}
    return rendered(site, request, "not_found.html", context, HTTPStatus.NOT_FOUND)


def no_page(request: HttpRequest) -> HttpResponse:
    """Say in the explorer's frame that a path leads nowhere."""
    return _with_headers(_missing(explorer(), request))


def _not_now(words: str) -> HttpResponse:
    response = HttpResponse(
        f"{words}\n", "text/plain; charset=utf-8", HTTPStatus.SERVICE_UNAVAILABLE
    )
    response["Retry-After"] = "1"
    return response


def form_page(show: Shown[P]) -> View:
    """Make a page that takes a form by POST, too: of any site, since it gives nothing that is the visitor's."""
    made: View = csrf_exempt(require_http_methods(["GET", "HEAD", "POST"])(_view(show)))
    return made


def cchain_page(show: Shown[P]) -> View:
    """Make a page of the C-Chain, which is not there on a node that takes no part in it."""
    return page(_of_cchain(show))


def cchain_form_page(show: Shown[P]) -> View:
    """Make a page of the C-Chain that takes a form by POST, too, as `form_page`."""
    return form_page(_of_cchain(show))


def is_part(request: HttpRequest) -> bool:
    """Say whether a script asks for a part of the page, to put it into the page that is open."""
    return request.headers.get(_SCRIPT) == "true"


def _of_cchain(show: Shown[P]) -> Shown[P]:
    @wraps(show)
    def shown(
        site: Explorer, request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        if not site.has_cchain:
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
    """Return a page in its frame."""
    network = site.settings.network_id
    prefix = get_script_prefix().removesuffix("/")
    frame = {
        "prefix": prefix,
        "rpc_path": f"{prefix}/" if prefix else "",
        "product": NAME,
        "network_name": name_of(network),
        "is_local": network == LOCAL,
        "has_cchain": site.has_cchain,
        "has_faucet": site.faucet is not None,
    }
    return render(request, f"explorer/{template}", {**frame, **context}, status=status)


def read_number(text: str | None) -> int | None:
    """Return a number in an address; None for none, and for what is no number below 10^19."""
    if text is None or not text.isdecimal() or len(text) > _MOST_DIGITS:
        return None
    return min(int(text), 2**63 - 1)


def shown_of(rows: Sequence[R], count: int) -> tuple[Sequence[R], bool]:
    """Return what a page shows of rows, of which one more than fits was asked for, and whether the list goes on."""
    return rows[:count], len(rows) > count


def list_pages(
    request: HttpRequest,
    rows: Sequence[R],
    key: Callable[[R], int],
    *,
    goes_on: bool,
    rest: int | None = None,
) -> dict[str, str]:
    """Return where a list goes on, for the template `_pages.html`: to older rows, and to the newest ones.

    Args:
        request: What was asked for; other parameters stay as they are.
        rows: What the list shows.
        key: What the next page is to be before.
        goes_on: Whether there are more rows.
        rest: Before what the list goes on though no more rows were found; None: then it does not.
    """
    others = {name: value for name, value in request.GET.items() if name != "before"}
    last = key(rows[-1]) if goes_on else rest
    older = "" if last is None else urlencode({**others, "before": last})
    newest = urlencode(others) or "before=" if "before" in request.GET else ""
    return {"older": older, "newest": newest}


def further_pages(request: HttpRequest, name: str, value: int | str | None) -> dict[str, str]:
    """Return where a list goes on that is in no order of time, for `_further.html`; None: it does not."""
    others = {key: one for key, one in request.GET.items() if key != name}
    return {
        "further": "" if value is None else urlencode({**others, name: value}),
        "beginning": urlencode(others) if name in request.GET else "",
    }
