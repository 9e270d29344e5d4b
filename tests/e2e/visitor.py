"""Follow the links of a node's pages behind a proxy, and report links that leave the proxy's path."""

import re
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterable
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from typing import NamedTuple
from urllib.parse import urldefrag, urlencode, urljoin

from typing_extensions import override

ADDRESSES = {"href", "src", "action", "formaction", "hx-get", "hx-post", "data-path", "data-base"}
"""HTML attributes that contain a path."""
NAMED_IN_SCRIPTS = re.compile(r"""["'](/(?:admin|static|ext|address|tx|api)/[^"'<> ]*)["']""")


class Answer(NamedTuple):
    """A received page, after redirects."""

    status: int
    address: str
    kind: str
    text: str


class Visitor:
    """An HTTP client that keeps cookies.

    Args:
        base: The address of the node's first page, without a slash at its end.
        path: Its path.
    """

    def __init__(self, base: str, path: str = "") -> None:
        self._base, self._path = base, path
        self._jar = CookieJar()
        cookies = urllib.request.HTTPCookieProcessor(self._jar)
        self._opener = urllib.request.build_opener(cookies)
        self.wrong: list[str] = []
        """Links that leave the path, and pages that failed."""

    def get(self, path: str, form: dict[str, str] | None = None) -> Answer:
        """Request a page below the path."""
        address = path if path.startswith("http") else f"{self._base}{path}"
        data = None if form is None else urlencode(form).encode()
        request = urllib.request.Request(address, data, {"Referer": address})
        try:
            with self._opener.open(request, timeout=60) as found:
                kind, text = found.headers.get("content-type", ""), found.read().decode()
                return Answer(found.status, found.url, kind, text)
        except urllib.error.HTTPError as error:
            with error:
                return Answer(
                    error.code, error.url, error.headers["content-type"], error.read().decode()
                )

    def log_in(self, password: str) -> None:
        """Log in to the admin."""
        form = {"username": "admin", "password": password, "next": f"{self._path}/admin/"}
        inside = self.send("/admin/", form)
        assert inside.address == f"{self._base}/admin/"

    def send(self, path: str, form: dict[str, str] | None = None) -> Answer:
        """Request a page with a form, and send the form."""
        asked = self.get(path)
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', asked.text)
        assert found is not None
        return self.get(asked.address, {"csrfmiddlewaretoken": found[1], **(form or {})})

    def cookies(self) -> set[tuple[str, str]]:
        """Return the names and paths of all cookies."""
        return {(cookie.name, cookie.path) for cookie in self._jar}

    def visit(self, start: Iterable[str], *, most: int) -> None:
        """Check up to `most` pages by following their links."""
        waiting = deque(f"{self._base}{path}" for path in start)
        seen = set(waiting)
        while waiting and most:
            most -= 1
            page = self.get(waiting.popleft())
            if page.status >= 400 and not page.address.endswith("/nowhere"):
                self.wrong.append(f"{page.status} {page.address}")
            if not page.kind.startswith("text/html"):
                continue
            for address in self._addresses(page):
                if address not in seen and "logout" not in address:
                    seen.add(address)
                    waiting.append(address)

    def _addresses(self, page: Answer) -> Iterable[str]:
        """Yield the addresses of the node's pages and files that a page links to."""
        for name, value in _Attributes(page.text).found:
            address = urldefrag(urljoin(page.address, value)).url
            if value.startswith("data:") or (name == "data-path" and not value):
                continue
            if (
                not address.startswith((f"{self._base}/", self._base + "?"))
                and address != self._base
            ):
                self.wrong.append(f"{page.address} has {name}={value}")
            elif name in {"href", "src"}:
                yield address
        for path in NAMED_IN_SCRIPTS.findall(page.text):
            if not path.startswith(f"{self._path}/"):
                self.wrong.append(f"{page.address} names {path}")


class _Attributes(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.feed(text)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(name, value or "") for name, value in attrs if name in ADDRESSES]
