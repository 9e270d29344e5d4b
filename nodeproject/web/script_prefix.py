"""Parts of Django that by default ignore the base path below which a proxy serves the pages (`nodeproject.web.paths`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponse
from django.urls import get_script_prefix, set_script_prefix
from django.utils.deprecation import MiddlewareMixin
from typing_extensions import override


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
