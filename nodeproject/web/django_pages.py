"""Two pages of Django's beside the admin's own: where its search box leads, and what a failure says."""

import sys
from http import HTTPStatus

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views import defaults

from cchain_app.admin import links as cchain
from chaindb.unavailable import unavailable
from platform_app.admin import links as platform

_CHAINS = (("P-Chain", platform.find_page), ("C-Chain", cchain.find_page))


def jump(request: HttpRequest) -> HttpResponse:
    """Lead to the page of exactly what was typed; where both chains have one (a height), offer both."""
    text = request.GET.get("q", "").strip()
    found = [(name, page) for name, find in _CHAINS if (page := find(text)) is not None]
    if len(found) == 1:
        return HttpResponseRedirect(found[0][1])
    if found:
        context = {**admin.site.each_context(request), "title": text, "found": found, "text": text}
        return render(request, "admin/jump.html", context)
    messages.warning(request, f"Nothing is exactly: {text[:80]}")
    return HttpResponseRedirect(reverse("admin:index"))


def server_error(request: HttpRequest) -> HttpResponse:
    """Show that something failed: 503 with the reason where the database or a server cannot serve, else 500."""
    words = unavailable(sys.exc_info()[1])
    if not words:
        return defaults.server_error(request)
    return HttpResponse(
        f"{words}\n",
        status=HTTPStatus.SERVICE_UNAVAILABLE,
        content_type="text/plain; charset=utf-8",
        headers={"Retry-After": "1"},
    )
