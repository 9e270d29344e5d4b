"""Django's parts that would leave out the path of a proxy below which the pages are (`nodeproject.web.base_path`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpRequest, HttpResponse
from django.urls import get_script_prefix, set_script_prefix
from django.utils.deprecation import MiddlewareMixin
from typing_extensions import override


class PrefixedStaticFiles(StaticFilesStorage):
    """Static files whose addresses begin with the path of the request's proxy, as those of pages do."""

    @override
    def url(self, name: str | None) -> str:
        return get_script_prefix().removesuffix("/") + super().url(name)


class CookiePaths(MiddlewareMixin):
    """Sets cookies for the path of the request's proxy alone, below which there may be other programs."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Narrow the paths of a response's cookies."""
        for cookie in response.cookies.values():
            if cookie["path"] == "/":
                cookie["path"] = f"{request.META.get('SCRIPT_NAME', '')}/"
        return response


@contextmanager
def script_prefix(prefix: str) -> Iterator[Any]:
    """Let addresses that are made in this thread begin with a path, which ends with a slash."""
    before = get_script_prefix()
    set_script_prefix(prefix)
    try:
        yield
    finally:
        set_script_prefix(before)
