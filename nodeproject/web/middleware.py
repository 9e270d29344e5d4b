"""Middleware of Django's pages: the base path, and the EVM chain that the admin shows.

Parts of Django ignore by default the base path below which a proxy serves the pages (`nodeproject.web.paths`). The chain is the
C-Chain, or the one that the user has chosen with `?chain=NAME`. The explorer sets its own headers
(`explorer_app.views.page`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.contrib import messages
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import get_script_prefix, set_script_prefix
from django.utils.deprecation import MiddlewareMixin
from typing_extensions import override

from cchain_app.apps import choosing, evm_chain, evm_chains, find_evm_chain


class PrefixedStaticFiles(StaticFilesStorage):
    """Static files whose addresses begin with the request's base path, like those of pages."""

    @override
    def url(self, name: str | None) -> str:
        return get_script_prefix().removesuffix("/") + super().url(name)


class CookiePaths(MiddlewareMixin):
    """Restricts cookies to the request's base path, because the proxy may serve other programs beside it."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Restrict the paths of a response's cookies."""
        for cookie in response.cookies.values():
            if cookie["path"] == "/":
                cookie["path"] = f"{request.META.get('SCRIPT_NAME', '')}/"
        return response


@contextmanager
def script_prefix(prefix: str) -> Iterator[Any]:
    """Make addresses that are generated in this thread begin with a path, which ends with a slash."""
    before = get_script_prefix()
    set_script_prefix(prefix)
    try:
        yield
    finally:
        set_script_prefix(before)


PARAMETER: Final = "chain"
"""Parameter of an address, and key in the session: the name of an EVM chain."""

MAX_SHOWN: Final = 64
"""Characters of an unknown name in a message."""


class ChainChoice:
    """Middleware that lets pages of the admin see the chosen chain as the C-Chain of the process.

    Args:
        respond: The next middleware.
    """

    def __init__(self, respond: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._respond = respond

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Remember a choice, or answer a request with the chain chosen before."""
        if not request.path_info.startswith("/admin/"):
            return self._respond(request)
        wanted = request.GET.get(PARAMETER)
        if wanted is not None and request.user.is_authenticated:
            if find_evm_chain(wanted) is not None:
                request.session[PARAMETER] = wanted
            else:
                messages.error(request, _absence(wanted))
            return HttpResponseRedirect(_without_choice(request))
        name = request.session.get(PARAMETER, "")
        chosen = find_evm_chain(name)
        if chosen is None:
            if name:
                del request.session[PARAMETER]
                messages.warning(request, f"{_absence(name)} These pages show the C-Chain.")
            return self._respond(request)
        with choosing(chosen):
            return self._respond(request)


def chosen_title() -> str:
    """Return the title of the chain that the pages show; empty on a node with one EVM chain."""
    return "" if len(evm_chains()) == 1 else evm_chain().title


def _absence(name: str) -> str:
    """Return the message for the name of a chain that this process does not run."""
    shown = name if len(name) <= MAX_SHOWN else f"{name[:MAX_SHOWN]}…"
    return f"No running EVM chain has the name or blockchain ID “{shown}”."


def _without_choice(request: HttpRequest) -> str:
    """Return the address of a request without the choice."""
    left = request.GET.copy()
    del left[PARAMETER]
    query = left.urlencode()
    return f"{request.path}?{query}" if query else request.path
