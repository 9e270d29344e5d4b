"""Paths behind the raw door: the RPC paths through django-ninja, and the admin."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, path

from nodeproject.api import api

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/", admin.site.urls),
    path("", api.urls),
]
