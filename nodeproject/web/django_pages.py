"""Two Django pages in addition to the admin's own: the target of its search box, and the error page."""

import sys
from http import HTTPStatus

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views import defaults

from cchain_app.admin import pages as cchain
from chaindb.unavailable import unavailable
from platform_app.admin import links as platform

_CHAINS = (("P-Chain", platform.find_page), ("C-Chain", cchain.find_page))


def jump(request: HttpRequest) -> HttpResponse:
    """Redirect to the page of exactly the text searched for; if both chains have one (for a height), offer both."""
    text = request.GET.get("q", "").strip()
    found = [(name, page) for name, find in _CHAINS if (page := find(text)) is not None]
    if len(found) == 1:
        return HttpResponseRedirect(found[0][1])
    if found:
        context = {**admin.site.each_context(request), "title": text, "found": found, "text": text}
        return render(request, "admin/jump.html", context)
    messages.warning(request, f"Nothing found for: {text[:80]}")
    return HttpResponseRedirect(reverse("admin:index"))


def server_error(request: HttpRequest) -> HttpResponse:
    """Show an error page: 503 with the reason if the database or a server is unavailable, otherwise 500."""
    words = unavailable(sys.exc_info()[1])
    if not words:
        return defaults.server_error(request)
    return HttpResponse(
        f"{words}\n",
        status=HTTPStatus.SERVICE_UNAVAILABLE,
        content_type="text/plain; charset=utf-8",
        headers={"Retry-After": "1"},
    )
