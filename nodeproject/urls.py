"""Paths behind the raw door: the RPC paths through django-ninja, and the admin."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, path

from nodeproject.api import api
from nodeproject.jump import jump

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/jump/", admin.site.admin_view(jump), name="admin_jump"),
    path("admin/", admin.site.urls),
    path("", api.urls),
]
