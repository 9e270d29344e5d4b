"""The reference of a node's methods as values that a web server sends: a page and a document, each made at its first use.

What makes them (`page`, `document`) is imported then.
"""

import gzip
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

from nodeproject.web.middleware import script_prefix
from nodeproject.web.openrpc.interface import RpcInterface

TEMPLATE: Final = "reference.html"


class CompressedBody(NamedTuple):
    """A body that is sent repeatedly, also in compressed form."""

    body: bytes
    gzipped: bytes

    @classmethod
    def of(cls, body: bytes) -> "CompressedBody":
        """Compress a body once for all requests."""
        return cls(body, gzip.compress(body, mtime=0))


BASE: Final = "/@base@"
"""A placeholder for the base path in the page and the document, which are rendered once for all requests."""
_VARIANTS: Final = 8
"""Number of base paths for which the page and the document are cached."""


class Reference:
    """The reference of a node's methods: the page and the document, each created at its first use.

    Args:
        address: Returns the base of the node's URLs, for browsers without scripts. Called when the page is rendered,
            because before that the node may not know its port.
        interfaces: Returns the interfaces of the node.
    """

    def __init__(
        self, address: Callable[[], str], interfaces: Callable[[], Iterable[RpcInterface]]
    ) -> None:
        self._address = address
        self._interfaces = interfaces
        self.html = lru_cache(_VARIANTS)(self._html_for)
        """Returns the page whose links begin with a base path."""
        self.document = lru_cache(_VARIANTS)(self._document_for)
        """Returns the OpenRPC document of all methods as JSON, whose servers' paths begin with a base path."""

    def _html_for(self, base: str) -> CompressedBody:
        return CompressedBody.of(self._html.replace(BASE.encode(), base.encode()))

    def _document_for(self, base: str) -> CompressedBody:
        return CompressedBody.of(self._document.replace(BASE.encode(), base.encode()))

    @cached_property
    def _html(self) -> bytes:
        from django.template.loader import render_to_string

        with script_prefix(f"{BASE}/"):
            return render_to_string(TEMPLATE, self.context()).encode()

    @cached_property
    def _document(self) -> bytes:
        from nodeproject.web.openrpc.document import whole

        return whole(self._interfaces(), BASE)

    def context(self) -> dict[str, Any]:
        """Return the context of the page's template."""
        from nodeproject.web.openrpc.page import context_of

        return context_of(self._interfaces(), self._address())
