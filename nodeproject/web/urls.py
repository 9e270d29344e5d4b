"""Django's paths behind the raw RPC endpoint: RPC and plain pages through django-ninja, and the admin."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.views.decorators.csrf import csrf_exempt

from adminkit.loading import load_admins
from nodeproject.admin.admin_actions import pause_or_resume, run_check
from nodeproject.copies.snapshots.view import snapshots
from nodeproject.web.api import api, respond_plain
from nodeproject.web.django_pages import jump
from nodeproject.web.logins import login

load_admins()

handler404 = "explorer_app.views.not_found.not_found"
handler500 = "nodeproject.web.django_pages.server_error"

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/jump/", admin.site.admin_view(jump), name="admin_jump"),
    path("admin/snapshots/", admin.site.admin_view(snapshots), name="admin_snapshots"),
    path(
        "admin/production/<str:name>/",
        admin.site.admin_view(pause_or_resume),
        name="admin_production",
    ),
    path("admin/check/<str:name>/", admin.site.admin_view(run_check), name="admin_check"),
    path("admin/login/", login),
    path("admin/", admin.site.urls),
    path("", api.urls),
    path("", include("explorer_app.urls")),
    re_path(r"^ext(?:/|$)", csrf_exempt(respond_plain)),
]
