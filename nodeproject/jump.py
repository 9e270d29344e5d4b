"""From the admin's search box to the page of exactly what was typed, on whichever chain it is."""

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from cchain_app.admin import jump as cchain
from platform_app.admin import jump as platform

_CHAINS = (("P-Chain", platform.find_page), ("C-Chain", cchain.find_page))


def jump(request: HttpRequest) -> HttpResponse:
    """Lead to the page that a text means; where both chains have one (a height), offer both."""
    text = request.GET.get("q", "").strip()
    found = [(name, page) for name, find in _CHAINS if (page := find(text)) is not None]
    if len(found) == 1:
        return HttpResponseRedirect(found[0][1])
    if found:
        context = {**admin.site.each_context(request), "title": text, "found": found, "text": text}
        return render(request, "admin/jump.html", context)
    messages.warning(request, f"Nothing is exactly: {text[:80]}")
    return HttpResponseRedirect(reverse("admin:index"))
