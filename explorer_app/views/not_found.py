"""Answers for paths that do not exist: a page that says so, or a redirect to the path without a final slash."""

from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.urls import Resolver404, resolve, reverse
from django.views import defaults

from explorer_app.views.page import no_page

_OTHERS: Final = {"admin", "api", "ext", "server", "static", "v2"}
"""First segments of paths that do not belong to the explorer's pages."""


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request for an unknown path, as Django's `handler404`."""
    first = request.path_info.strip("/").partition("/")[0]
    if first in _OTHERS or request.method not in {"GET", "HEAD"}:
        return defaults.page_not_found(request, exception)
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
    if match.app_names != ["explorer"] or match.url_name is None:
        return None
    # Built from its parts, so that the redirect cannot lead to another host.
    return reverse(match.view_name, args=match.args, kwargs=match.kwargs)
