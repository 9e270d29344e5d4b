"""Pages for GET before Django: reference, health, probes, metrics, and errors for unknown paths below /ext.

Health and probes are answered on the event loop from memory, without thread or database, so they work even if
either is unavailable. The gate is that of the RPC interfaces. Django's routes serve the same pages, for the
OpenAPI page and for tests; both return the same bytes.
"""

import logging
from collections.abc import Callable, Collection, Container, Mapping
from functools import cached_property, lru_cache
from http import HTTPStatus
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import parse_qs

from django.http import HttpRequest, HttpResponse
from typing_extensions import override

from chaindb.connections import release
from chaindb.unavailable import unavailable
from health_app.api import HealthApi, HealthReply
from health_app.metrics.process import OTHER
from jsonrpc.dispatch.gate import Gate, HttpReply, RequestHead
from jsonrpc.dispatch.gorilla import GORILLA
from jsonrpc.dispatch.inflight import Replies
from jsonrpc.dispatch.workers import Workers
from jsonrpc.errors import Overloaded
from jsonrpc.http.asgi_rpc import Application, Receive, Scope, read_head
from jsonrpc.http.delivery import Send
from jsonrpc.http.plain_heads import read_headers
from jsonrpc.http.replies import GZIPPED, accepts_gzip, to_response
from jsonrpc.http.replies import read_head as read_django_head
from nodeproject.web.endpoints import Endpoints
from nodeproject.web.observation import Observation
from nodeproject.web.openrpc.reference import Reference
from nodeproject.web.paths import NO_BASE_PATHS, BasePaths
from nodeproject.web.rpc_paths import ROOT
from primitives.bearer import NO_TOKENS, BearerTokens

DOCUMENTS: Final = ("/ext/docs/paths", "/ext/openapi.json")
"""Paths below /ext that Django answers."""

METRICS_PATH: Final = "/ext/metrics"
REFERENCE_PATH: Final = "/ext/docs"
OPENRPC_PATH: Final = "/ext/openrpc.json"

NOT_FOUND: Final = "404 page not found"

_PREFLIGHT: Final = b"access-control-request-method"
_JSON: Final = "application/json"
_HTML: Final = "text/html; charset=utf-8"
_ALONE: Final = ((b"x-frame-options", b"DENY"),)
"""Forbids other sites to show the page in a frame, which prevents clickjacking."""
_METHODS: Final = "GET, HEAD, OPTIONS"
_SECONDS: Final = 30.0
"""Maximum seconds for a page that has to wait for data."""
_THREADS: Final = 2
_HEADS: Final = 256
"""Parsed request heads that are cached: a monitor sends the same head each time."""
_WAITING: Final = 16
"""Maximum number of waiting pages in threads, and the same number queued behind them."""

_log: Final = logging.getLogger(__name__)

Query = Mapping[str, list[str]]
"""The parameters of the query string by name."""


class PageContent(NamedTuple):
    """The content of a page."""

    status: HTTPStatus
    content_type: str
    body: bytes
    gzipped: bytes = b""
    """The same body compressed in advance, for clients that accept gzip; empty if it is not."""


class GetPage(NamedTuple):
    """The page at a path. Pages that may have to wait for data are rendered in a thread."""

    show: Callable[[Query, str], PageContent]
    """Renders the page from the request's query and the base path, with which its links begin."""
    waits: bool = False


class Front:
    """Routes requests below /ext; independent of ASGI and of Django's requests.

    Args:
        pages: The pages by path.
        gate: Decides which requests are allowed.
        others: Paths that the application behind answers; some of them are also pages for GET.
        replies: Returns the counter of a page's replies by its path without /ext/, or of unknown paths.
        absent: Messages for some paths, in place of the usual not-found text.
        tokens: The tokens of which requests for some pages need one, by path.
    """

    def __init__(
        self,
        pages: Mapping[str, GetPage],
        gate: Gate,
        others: Container[str],
        replies: Callable[[str], Replies] = lambda _: Replies(),
        absent: Mapping[str, str] = MappingProxyType({}),
        *,
        tokens: Mapping[str, BearerTokens] = MappingProxyType({}),
    ) -> None:
        self._absent = absent
        self._tokens = tokens
        self._replies = {path: replies(path.removeprefix("/ext/")) for path in pages}
        self._elsewhere = replies(OTHER)
        with_slash = {f"{path}/": page for path, page in pages.items()}
        self._pages = {**pages, **with_slash}
        self._gate = gate
        self._others = others

    def passes(self, method: str, path: str) -> bool:
        """Return whether a request is passed to the application behind. Every call on an RPC path asks this."""
        if path in self._others:
            return path not in self._pages or method not in {"GET", "HEAD"}
        if path in self._absent and method not in {"GET", "HEAD"}:
            return False
        return path not in self._pages and not path.startswith("/ext/") and path != "/ext"

    def page(self, head: RequestHead, path: str) -> GetPage | HttpReply:
        """Return the page for a request that is not passed on, or an error reply.

        Unspecified: the reference shows its probes to any method; here other methods get a 405.
        """
        if not self._gate.host_allowed(head.headers.get(b"host", b"")):
            return self._gate.refuse(HTTPStatus.FORBIDDEN, self._gate.wrong_host, head)
        found = self._pages.get(path)
        # Browsers send a preflight before they call any path; the answer is always the same.
        if head.method == "OPTIONS" and (found or _PREFLIGHT in head.headers):
            return self._gate.preflight(head)
        if found is None:
            text = self._absent.get(path.rstrip("/") or ROOT, NOT_FOUND)
            return self._gate.refuse(HTTPStatus.NOT_FOUND, text, head)
        tokens = self._tokens.get(path.rstrip("/"), NO_TOKENS)
        if (refused := self._gate.without_token(head, tokens)) is not None:
            return refused
        if head.method in {"GET", "HEAD"}:
            return found
        allow = (b"allow", _METHODS.encode())
        text = f"{_METHODS} only, received {head.method}"
        return self._gate.refuse(HTTPStatus.METHOD_NOT_ALLOWED, text, head, allow)

    def reply(self, head: RequestHead, content: PageContent) -> HttpReply:
        """Return the reply with a page and the common headers."""
        is_gzip = bool(content.gzipped) and accepts_gzip(head)
        body = content.gzipped if is_gzip else content.body
        plain = self._gate.accept(head, body, content.status)
        kind = (b"content-type", content.content_type.encode())
        others = tuple(header for header in plain.headers if header[0] != b"content-type")
        more = (*(GZIPPED if is_gzip else ()), *(_ALONE if content.content_type == _HTML else ()))
        return plain._replace(headers=(kind, *more, *others))

    def count(self, head: RequestHead, path: str, reply: HttpReply) -> None:
        """Count a reply. All unknown paths share one counter."""
        counted = self._replies.get(path.rstrip("/"), self._elsewhere)
        counted.count(head.method, reply.status)

    def unavailable(self, head: RequestHead) -> HttpReply:
        """Return a reply that the page is temporarily unavailable."""
        retry = (b"retry-after", b"1")
        return self._gate.refuse(HTTPStatus.SERVICE_UNAVAILABLE, "try again later", head, retry)

    def failed(self, head: RequestHead) -> HttpReply:
        """Return a reply that rendering the page failed, without internal details."""
        return self._gate.refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "the page cannot be shown", head)


class PagesAtOnce:
    """The pages that need no waiting, for the direct fast path: simple requests whose heads are cached.

    All other requests, and failures, are left to the regular path, which returns the same bytes.

    Args:
        front: The pages and their gate.
    """

    def __init__(self, front: Front) -> None:
        self._front = front
        self._asked = lru_cache(maxsize=_HEADS)(self._read)

    def get(self, head: bytes) -> HttpReply | None:
        """Return and count the reply to a request with this head; see `jsonrpc.http.fast_path.GetPages`."""
        asked = self._asked(head)
        if asked is None:
            return None
        try:
            reply = self._front.reply(asked.head, asked.page.show({}, ""))
        except Exception:
            # The regular path fails in the same way, and answers with an error.
            _log.exception("the page %s failed", asked.path)
            return None
        self._front.count(asked.head, asked.path, reply)
        return reply

    def _read(self, text: bytes) -> "_PageRequest | None":
        line, *lines = text.split(b"\r\n")
        method, _, rest = line.partition(b" ")
        target, _, version = rest.partition(b" ")
        path = target.decode("latin-1")
        headers = read_headers(lines)
        if method != b"GET" or version != b"HTTP/1.1" or headers is None:
            return None
        if b"content-length" in headers or self._front.passes("GET", path):
            return None
        head = RequestHead("GET", headers, has_query=False, peer="")
        page = self._front.page(head, path)
        return None if isinstance(page, HttpReply) or page.waits else _PageRequest(head, path, page)


class _PageRequest(NamedTuple):
    head: RequestHead
    path: str
    page: GetPage


class GetPagesMiddleware:
    """An ASGI application that answers plain pages and passes other requests on.

    Args:
        front: The pages and their gate.
        behind: The application for other requests.
        workers: Threads for pages that have to wait; separate from those of calls, so that a busy node can
            still be inspected.
        base_paths: Determines the base path of each request.
    """

    def __init__(
        self,
        front: Front,
        behind: Application,
        workers: Workers,
        base_paths: BasePaths = NO_BASE_PATHS,
    ) -> None:
        self._base_paths = base_paths
        self._front = front
        self._behind = behind
        self._workers = workers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of a connection."""
        if scope["type"] != "http" or self._front.passes(scope["method"], scope["path"]):
            return await self._behind(scope, receive, send)
        head = read_head(scope)
        found = self._front.page(head, scope["path"])
        reply = found if isinstance(found, HttpReply) else await self._show(found, head, scope)
        self._front.count(head, scope["path"], reply)
        return await _send(send, reply, with_body=head.method != "HEAD")

    async def _show(self, page: GetPage, head: RequestHead, scope: Scope) -> HttpReply:
        query, base = _query(scope["query_string"]), self._base_paths.of(scope)
        try:
            if page.waits:
                content = await self._workers.run(_SECONDS, page.show, query, base)
            else:
                content = page.show(query, base)
        except (Overloaded, TimeoutError):
            return self._front.unavailable(head)
        except Exception as error:
            _log.exception("the page %s failed", scope["path"])
            return self._front.unavailable(head) if unavailable(error) else self._front.failed(head)
        return self._front.reply(head, content)


class PlainPages:
    """The plain pages of a node, and the threads that render those that have to wait.

    Args:
        endpoints: The RPC interfaces.
        observation: Provides health and metrics.
        reference: Describes the methods of the interfaces.
    """

    def __init__(
        self, endpoints: Endpoints, observation: Observation, reference: Reference
    ) -> None:
        self._endpoints = endpoints
        self._observation = observation
        self._reference = reference

    @cached_property
    def front(self) -> Front:
        """Routes the requests below /ext."""
        others = _Others(self._endpoints.complete())
        gate = Gate(self._endpoints.gate_config, GORILLA)
        counted = self._observation.metrics.replies_of
        tokens = {METRICS_PATH: self._endpoints.metrics_tokens}
        return Front(self._pages(), gate, others, counted, self._endpoints.absent, tokens=tokens)

    @cached_property
    def at_once(self) -> PagesAtOnce:
        """The pages that need no waiting."""
        return PagesAtOnce(self.front)

    @cached_property
    def workers(self) -> Workers:
        """The threads that render pages that have to wait."""
        interpreter = self._endpoints.interpreter
        return Workers(_THREADS, _WAITING, after=release, interpreter=interpreter)

    def respond(self, request: HttpRequest) -> HttpResponse:
        """Answer a request that came through Django, byte for byte like the ASGI application."""
        front, head, path = self.front, read_django_head(request), request.path_info
        reply = front.page(head, path)
        if not isinstance(reply, HttpReply):
            query = _query(request.META.get("QUERY_STRING", "").encode("latin-1"))
            reply = front.reply(head, reply.show(query, request.META.get("SCRIPT_NAME", "")))
        front.count(head, path, reply)
        return to_response(reply)

    def _pages(self) -> dict[str, GetPage]:
        health = HealthApi(self._observation.reporter)
        reports = {path: GetPage(_health(show)) for path, show in health.pages().items()}
        return {
            **reports,
            METRICS_PATH: GetPage(self._metrics, waits=True),
            REFERENCE_PATH: GetPage(self._show_reference, waits=True),
            OPENRPC_PATH: GetPage(self._show_document, waits=True),
        }

    def _show_reference(self, _query: Query, base: str) -> PageContent:
        return PageContent(HTTPStatus.OK, _HTML, *self._reference.html(base))

    def _show_document(self, _query: Query, base: str) -> PageContent:
        return PageContent(HTTPStatus.OK, _JSON, *self._reference.document(base))

    def _metrics(self, _query: Query, _base: str) -> PageContent:
        content_type, text = self._observation.page.text()
        return PageContent(HTTPStatus.OK, content_type, text)


class _Others(Container[str]):
    """The paths below /ext that are no plain pages: interfaces, to which more may be added, and documents."""

    def __init__(self, interfaces: Container[str]) -> None:
        self._interfaces = interfaces

    @override
    def __contains__(self, path: object) -> bool:
        return path in self._interfaces or path in DOCUMENTS


def _health(show: Callable[[Collection[str]], HealthReply]) -> Callable[[Query, str], PageContent]:
    def content(query: Query, _base: str) -> PageContent:
        status, body = show(query.get("tag", ()))
        return PageContent(status, _JSON, body)

    return content


def _query(text: bytes) -> Query:
    return parse_qs(text.decode("latin-1"), keep_blank_values=True, errors="replace")


async def _send(send: Send, reply: HttpReply, *, with_body: bool) -> None:
    length = (b"content-length", b"%d" % len(reply.body))
    headers = (
        [*reply.headers, length] if reply.status != HTTPStatus.NO_CONTENT else [*reply.headers]
    )
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body if with_body else b""})
