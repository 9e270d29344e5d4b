"""Django's paths behind the raw RPC endpoint: RPC and plain pages through django-ninja, and the admin.

Two pages are here: the target of the admin's search box, and the error page.
"""

import sys

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, URLResolver, include, path, re_path, reverse
from django.views import defaults
from django.views.decorators.csrf import csrf_exempt

from adminkit.loading import load_admins
from cchain_app.admin import pages as cchain
from chaindb.unavailable import unavailable
from explorer_app.views.page import not_now
from nodeproject.admin.first_page import pause_or_resume, run_check
from nodeproject.copies.snapshot_view import snapshots
from nodeproject.web.api import api, respond_plain
from nodeproject.web.logins import login
from platform_app.admin import links as platform
from platform_app.admin.l1_steps import take_step

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
    return not_now(request, words)


load_admins()

handler404 = "explorer_app.views.page.not_found"
handler500 = "nodeproject.web.urls.server_error"

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/jump/", admin.site.admin_view(jump), name="admin_jump"),
    path("admin/snapshots/", admin.site.admin_view(snapshots), name="admin_snapshots"),
    path(
        "admin/production/<str:name>/",
        admin.site.admin_view(pause_or_resume),
        name="admin_production",
    ),
    path("admin/l1/<str:name>/", admin.site.admin_view(take_step), name="admin_l1_step"),
    path("admin/check/<str:name>/", admin.site.admin_view(run_check), name="admin_check"),
    path("admin/login/", login),
    path("admin/", admin.site.urls),
    path("", api.urls),
    path("", include("explorer_app.urls")),
    re_path(r"^ext(?:/|$)", csrf_exempt(respond_plain)),
]
