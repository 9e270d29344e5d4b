"""What is answered at paths where the node has nothing: the page that says so, or the page without a last slash."""

from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.urls import Resolver404, resolve, reverse
from django.views import defaults

from explorer_app.views.page import no_page

_OTHERS: Final = {"admin", "api", "ext", "server", "static", "v2"}
"""First parts of paths that are no pages of the explorer."""


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a path that leads nowhere, as Django's `handler404`."""
    first = request.path_info.strip("/").partition("/")[0]
    if first in _OTHERS or request.method not in {"GET", "HEAD"}:
        return defaults.page_not_found(request, exception)
    page = _page_without_slash(request.path_info)
    if page is None:
        return no_page(request)
    query = request.META["QUERY_STRING"]
    return HttpResponsePermanentRedirect(f"{page}?{query}" if query else page)


def _page_without_slash(path: str) -> str | None:
    """Return the address of the explorer's page that a path means but for slashes in its end."""
    if not path.endswith("/"):
        return None
    try:
        found = resolve(path.rstrip("/"))
    except Resolver404:
        return None
    if found.app_names != ["explorer"] or found.url_name is None:
        return None
    # Made anew of its parts: it leads to no other host, whatever was asked for.
    return reverse(found.view_name, args=found.args, kwargs=found.kwargs)
