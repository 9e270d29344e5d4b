"""Checks of requests for every transport: hosts, tokens, methods, sizes, content types and origins.

Values in, decisions out; no framework and no settings. `throttle` has the rate limits, `client_address` determines
the client's address.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple

from jsonrpc.dispatch.caller import MAX_ORIGIN, Caller, caller_of, is_match
from jsonrpc.dispatch.dialects import Dialect
from jsonrpc.limits.client_address import NO_PROXIES, TrustedProxies, client_key
from primitives.bearer import NO_TOKENS, BearerTokens

Header = tuple[bytes, bytes]
"""Name in lower case, value."""

UNAUTHORIZED: Final = "a token is needed: Authorization: Bearer TOKEN"
"""The text of a 401."""

_ALLOWED_METHODS = b"POST, GET, OPTIONS"
_TEXT = (b"content-type", b"text/plain; charset=utf-8")

_HOST: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{0,5})?")
"""`host[:port]` (RFC 9110 7.2): an IPv6 address in brackets, or a name or IPv4 address; no user, no
path, and only the port after the bracket."""

_NAME: Final = re.compile(r"(?:[a-z0-9_-]+\.)*[a-z0-9_-]+\.?")
"""A name as clients send it: no label is empty."""
_ORIGIN: Final = re.compile(r"[a-z*][a-z0-9+.*-]*://[a-z0-9._:*\[\]-]+")
"""`scheme://host[:port]`, with `*` in any part."""
_WITH_DEFAULT_PORT: Final = re.compile(r"http://.*:80|https://.*:443")
"""Origins that no client sends: it leaves out the default port of the scheme."""

# Longer values are invalid, and none of them is cached.
_MAX_HOST: Final = 262
"""Bytes of the longest host: a name of 253, and a port."""
_MAX_CONTENT_TYPE: Final = 256


class RequestHead(NamedTuple):
    """A request without its body: header names in lower case; `peer` is the other end of the socket."""

    method: str
    headers: Mapping[bytes, bytes]
    has_query: bool
    peer: str


class HttpReply(NamedTuple):
    """A reply; the transport adds `content-length`."""

    status: int
    headers: tuple[Header, ...]
    body: bytes


@dataclass(frozen=True, slots=True)
class GateConfig:
    """The operator's settings.

    `allowed_hosts`: names in the Host header, `*` for any; IP addresses are always served.
    `host_hint`: hint for clients that use another name.
    `cors_origins`: origins of web pages, `*` for any, or with one `*` inside.
    `max_body` in bytes. `node_id` is sent in a header of its own. `tokens`: every request but a CORS preflight needs one.
    """

    allowed_hosts: tuple[str, ...] = ("localhost",)
    host_hint: str = ""
    cors_origins: tuple[str, ...] = ("*",)
    cors_credentials: bool = True
    cors_max_age: int = 600
    websocket_origins: tuple[str, ...] = ("*",)
    max_body: int = 5 * 1024 * 1024
    proxies: TrustedProxies = field(default=NO_PROXIES)
    node_id: str = ""
    tokens: BearerTokens = NO_TOKENS


class Gate:
    """The decisions of one configuration, with the messages of one dialect."""

    def __init__(self, config: GateConfig, dialect: Dialect) -> None:
        self.config = config
        self._dialect = dialect
        self._extra: tuple[Header, ...] = (
            ((b"node-id", config.node_id.encode()),) if config.node_id else ()
        )
        self.wrong_host = ": ".join(filter(None, ("invalid host specified", config.host_hint)))
        """The message for a host that is not allowed."""
        # The same few values recur, so caches of limited size, with short values, save the parsing.
        self._known_host_allowed = lru_cache(maxsize=1024)(self._host_allowed)
        self._headers = lru_cache(maxsize=1024)(self._headers_for)
        self._json_headers = lru_cache(maxsize=1024)(self._json_headers_for)
        self._is_json = lru_cache(maxsize=1024)(self._is_json_type)

    def host_allowed(self, host: bytes) -> bool:
        """Return whether a Host header is allowed."""
        return len(host) <= _MAX_HOST and self._known_host_allowed(host)

    def screen(self, head: RequestHead) -> HttpReply | None:
        """Return the reply to a request that its head decides; None if its body must be read."""
        headers = head.headers
        if not self.host_allowed(headers.get(b"host", b"")):
            return self.refuse(HTTPStatus.FORBIDDEN, self.wrong_host, head)
        if (refused := self.without_token(head, self.config.tokens)) is not None:
            return refused
        if head.method != "POST":
            return self._without_body(head)
        length = headers.get(b"content-length", b"")
        if length and not self._fits(length):
            return self.too_large(head)
        content_type = headers.get(b"content-type", b"")
        if len(content_type) > _MAX_CONTENT_TYPE or not self._is_json(content_type):
            text = self._dialect.wrong_content_type(content_type.decode("latin-1"))
            return self.refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, text, head)
        return None

    def without_token(self, head: RequestHead, tokens: BearerTokens) -> HttpReply | None:
        """Return the reply to a request that needs one of these tokens and has none; None if it is accepted.

        Browsers send preflights without the header, so these need no token.
        """
        authorization = head.headers.get(b"authorization", b"")
        if head.method == "OPTIONS" or tokens.accepts(authorization):
            return None
        challenge = (b"www-authenticate", tokens.challenge(authorization))
        return self.refuse(HTTPStatus.UNAUTHORIZED, UNAUTHORIZED, head, challenge)

    def preflight(self, head: RequestHead) -> HttpReply:
        """Return the reply to OPTIONS with the permissions of that origin; without an origin there are none."""
        headers = self._headers(_origin(head))
        if any(name == b"access-control-allow-origin" for name, _ in headers):
            requested = head.headers.get(b"access-control-request-headers", b"content-type")
            headers += (
                (b"access-control-allow-methods", _ALLOWED_METHODS),
                (b"access-control-allow-headers", requested),
                (b"access-control-max-age", b"%d" % self.config.cors_max_age),
            )
        return HttpReply(HTTPStatus.NO_CONTENT, headers, b"")

    def origin_headers(self, head: RequestHead) -> tuple[Header, ...]:
        """Return the headers of every answer to a page of that origin, for transports with their own replies."""
        return self._headers(_origin(head))

    def accept(self, head: RequestHead, answer: bytes, status: int = HTTPStatus.OK) -> HttpReply:
        """Return a reply with JSON as its body."""
        return HttpReply(status, self._json_headers(_origin(head)), answer)

    def refuse(self, status: HTTPStatus, text: str, head: RequestHead, *extra: Header) -> HttpReply:
        """Return a reply with a line of text instead of JSON-RPC."""
        headers = self._headers(_origin(head))
        nosniff = (b"x-content-type-options", b"nosniff")
        return HttpReply(status, (_TEXT, nosniff, *extra, *headers), f"{text}\n".encode())

    def too_large(self, head: RequestHead, maximum: int | None = None) -> HttpReply:
        """Return the reply to a body over the limit, by its declared or its real size."""
        maximum = self.config.max_body if maximum is None else maximum
        text = f"content length too large (more than {maximum} bytes)"
        return self.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text, head)

    def too_slow(self, head: RequestHead) -> HttpReply:
        """Return the reply to a body that did not arrive in time."""
        return self.refuse(HTTPStatus.REQUEST_TIMEOUT, "request body did not arrive in time", head)

    def client(self, head: RequestHead) -> str:
        """Return the key under which the client is counted."""
        forwarded_for = head.headers.get(b"x-forwarded-for", b"")
        return client_key(head.peer, forwarded_for, self.config.proxies)

    def websocket_origin_allowed(self, origin: bytes) -> bool:
        """Return whether a page of that origin may open a WebSocket; a client without an origin always may."""
        return not origin or is_match(
            origin.decode("latin-1").lower(), self.config.websocket_origins
        )

    def _without_body(self, head: RequestHead) -> HttpReply:
        """Reply to a request other than POST: GET is a load balancer's probe for geth, an error for gorilla.

        Unspecified: geth executes a GET that carries a JSON body; here it is a 405.
        """
        if head.method == "OPTIONS":
            return self.preflight(head)
        probe = head.method in {"GET", "HEAD"} and not head.has_query
        if probe and self._dialect.probes and head.headers.get(b"content-length", b"0") == b"0":
            return self.accept(head, b"")
        text = self._dialect.wrong_http_method(head.method)
        allow = (b"allow", _ALLOWED_METHODS)
        return self.refuse(HTTPStatus.METHOD_NOT_ALLOWED, text, head, allow)

    def _fits(self, content_length: bytes) -> bool:
        try:
            return int(content_length) <= self.config.max_body
        except ValueError:
            return False

    def _host_allowed(self, host: bytes) -> bool:
        """Return whether a name is on the list; the list keeps pages from using their own name for this node.

        An invalid host is never served, not even if any name is allowed.
        """
        if not host:
            return True
        match = _HOST.fullmatch(host.decode("latin-1").lower())
        if match is None:
            return False
        literal, name = match.groups()
        if literal is not None:
            return _is_address(literal, IPv6Address)
        allowed = {entry.lower() for entry in self.config.allowed_hosts}
        return "*" in allowed or name in allowed or _is_address(name, IPv4Address)

    def _is_json_type(self, content_type: bytes) -> bool:
        kind = content_type.partition(b";")[0].strip().lower()
        return kind in self._dialect.content_types

    def _json_headers_for(self, origin: bytes) -> tuple[Header, ...]:
        return self._dialect.headers + self._headers_for(origin)

    def _headers_for(self, origin: bytes) -> tuple[Header, ...]:
        """Return the headers of every answer to that origin, independent of its content."""
        config = self.config
        headers = self._extra
        anyone = "*" in config.cors_origins
        if not anyone:
            headers += ((b"vary", b"origin"),)
        if not origin or not is_match(origin.decode("latin-1").lower(), config.cors_origins):
            return headers
        headers += ((b"access-control-allow-origin", b"*" if anyone else origin),)
        if config.cors_credentials:
            headers += ((b"access-control-allow-credentials", b"true"),)
        return headers


def is_possible_host(entry: str) -> bool:
    """Return whether a request can have a Host header that an entry of `allowed_hosts` allows.

    IP addresses are possible: they are allowed with or without an entry.
    """
    if entry == "*" or len(entry) > _MAX_HOST:
        return entry == "*"
    address = entry.removeprefix("[").removesuffix("]")
    return _is_address(address, IPv6Address) or _NAME.fullmatch(entry.lower()) is not None


def is_possible_origin(entry: str) -> bool:
    """Return whether a request can have an Origin header that an entry of the allowed origins matches."""
    text = entry.lower()
    if _WITH_DEFAULT_PORT.fullmatch(text):
        return False
    return text in {"*", "null"} or _ORIGIN.fullmatch(text) is not None


def _origin(head: RequestHead) -> bytes:
    """Return the origin of a page; one that is too long counts as missing, so it gets no permission."""
    origin = head.headers.get(b"origin", b"")
    return origin if len(origin) <= MAX_ORIGIN else b""


def _is_address(text: str, kind: type[IPv4Address | IPv6Address]) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return True


class HttpConnection:
    """The HTTP connection of a request: its client, and whether the client is still connected.

    Only the answer can be sent on it. `is_gone` returns whether the client has disconnected, in any thread.
    """

    __slots__ = ("_gate", "_head", "is_gone")

    def __init__(
        self, gate: Gate, head: RequestHead, is_gone: Callable[[], bool] = lambda: False
    ) -> None:
        self._gate = gate
        self._head = head
        self.is_gone = is_gone

    @property
    def client(self) -> str:
        """The key under which the client is counted."""
        return self._gate.client(self._head)

    @property
    def caller(self) -> Caller:
        """The sender of the request."""
        return caller_of(self._head.headers, self._head.peer)
