"""Requests to the remote node of a fork over HTTP: persistent connections, several URLs in turn, retries in time.

Messages, logs and errors contain only the scheme and the host of a URL.
"""

import itertools
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec
from msgspec import Raw

from cchain_app.forking import answers
from cchain_app.forking.errors import (
    MAX_WORDS,
    BadUpstreamAnswer,
    Unanswered,
    UpstreamAway,
    UpstreamError,
    UpstreamReason,
    UpstreamRefused,
)
from cchain_app.forking.origin import (
    UpstreamServer,
    read_headers,
    read_wanted,
    server_of,
    servers_of,
    shown,
)
from cchain_app.forking.settings import ForkSettings

AT_ONCE: Final = 8
"""Number of requests of one caller that run at the same time."""

UNITS_OF_REQUEST: Final = 17
"""Compute units that a request is assumed to need, as in Foundry (the average of eth_getStorageAt and its like)."""

BURST_SECONDS: Final = 1.0
"""Unused compute units are saved for this many seconds, and can then be used together."""

AWAY_SECONDS: Final = 10.0
"""For this long after all tries have failed there are no retries: else each block would wait for all of them."""


class AnswerLimits(NamedTuple):
    """Limits of an answer."""

    size: int
    """Bytes."""
    bytes_for_value: int
    """See `answers.read_answer`."""


STATE: Final = AnswerLimits(4 * 1024 * 1024, answers.DECODED)
"""For answers about state, and blocks without their transactions: a megabyte of code or 50,000 hashes fit.
Up to `AT_ONCE` of them are read at the same time."""
BLOCK: Final = AnswerLimits(32 * 1024 * 1024, answers.LISTED)
"""For a block with its transactions."""
PASSED_ON: Final = AnswerLimits(32 * 1024 * 1024, 0)
"""For answers that are passed on. Longer ones would exceed the memory that the requests of one client may use."""

_SHORTEST_SECRET: Final = 6
_encode: Final = msgspec.json.Encoder().encode

Q = TypeVar("Q")
A = TypeVar("A")


class ClientSettings(NamedTuple):
    """Settings of the client."""

    retries: int = 5
    timeout: float = 45.0
    """Seconds for one request, its retries included."""
    backoff: float = 1.0
    """Seconds before each retry, unless the server names another delay."""
    compute_units: int = 0
    """Compute units for each second, of which a request needs `UNITS_OF_REQUEST`; 0: unlimited."""
    headers: Mapping[str, str] = {}
    """Headers that may contain the operator's keys; only sent to `servers`."""
    servers: Collection[UpstreamServer] = frozenset()
    """Servers that the operator named."""


class _Again(Exception):
    """A failure that may be temporary."""

    def __init__(self, error: UpstreamError, seconds: float) -> None:
        super().__init__()
        self.error = error
        self.seconds = seconds


class _Url(NamedTuple):
    """A URL for requests, and the part of it that may be shown."""

    url: str
    shown: str
    headers: dict[str, str]


class Upstream:
    """The remote node of a fork. Its methods block; several threads may share it.

    Args:
        urls: URLs of the remote node; each failure moves on to the next one.
        settings: Settings of the client.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        urls: Sequence[str],
        settings: ClientSettings = ClientSettings(),  # noqa: B008  # it never changes
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._urls = [_split(url, settings) for url in urls]
        self._secrets = _secrets_of(urls, settings.headers)
        self._settings = settings
        self._sleep = sleep
        # Imported here: urllib3 takes a thirtieth of a node's start, and few nodes are forks.
        from cchain_app.forking.exchange import UpstreamExchange

        self._exchange = UpstreamExchange(servers=len(urls), connections=3 * AT_ONCE)
        self._ids = itertools.count(1)
        self._turn = 0
        self._away_until = 0.0
        self._paid_until = 0.0
        """The time, by the monotonic clock, up to whose end the compute units are used."""
        self._lock = threading.Lock()
        self.has_account_info: bool | None = None
        """Whether the node supports eth_getAccountInfo; None: not tried yet."""

    @property
    def host(self) -> str:
        """Scheme and host of the URL of the next request."""
        return self._urls[self._turn % len(self._urls)].shown

    @property
    def is_away(self) -> bool:
        """Whether the last request failed on all tries a moment ago."""
        return time.monotonic() < self._away_until

    def ask(
        self,
        method: str,
        params: Sequence[Any],
        type_: Any = Any,
        *,
        again: bool = True,
        limits: AnswerLimits = STATE,
    ) -> Any:
        """Send one request and return its result, decoded.

        Args:
            method: The JSON-RPC method.
            params: Its parameters.
            type_: Type of the result.
            again: Whether to retry after a failure that may be temporary.
            limits: Limits of the answer.

        Raises:
            UpstreamAway: No URL answered in time.
            UpstreamRefused: The answer was an error.
            UpstreamError: The node does not have that state any longer.
            BadUpstreamAnswer: The answer was malformed or too large.
        """
        return answers.decode(self._ask(method, params, limits, again=again), type_)

    def pass_on(self, method: str, params: Sequence[Any]) -> Raw:
        """Forward a client's request and return the result as JSON text. Raises as `ask`."""
        return self._ask(method, params, PASSED_ON, again=True)

    def _ask(self, method: str, params: Sequence[Any], limits: AnswerLimits, *, again: bool) -> Raw:
        deadline = time.monotonic() + self._settings.timeout
        tries = self._settings.retries if again and not self.is_away else 0
        while True:
            self._throttle()
            target = self._urls[self._turn % len(self._urls)]
            try:
                result = self._ask_once(target, method, params, deadline, limits)
            except _Again as failure:
                with self._lock:
                    self._turn += 1
                left = deadline - time.monotonic()
                if tries <= 0 or failure.seconds >= left:
                    if isinstance(failure.error, UpstreamAway):
                        self._away_until = time.monotonic() + AWAY_SECONDS
                    raise failure.error from None
                tries -= 1
                self._sleep(failure.seconds)
            else:
                self._away_until = 0.0
                return result

    def _throttle(self) -> None:
        """Wait until there are compute units for one more request."""
        if not self._settings.compute_units:
            return
        now = time.monotonic()
        with self._lock:
            begins = max(self._paid_until, now - BURST_SECONDS)
            self._paid_until = begins + UNITS_OF_REQUEST / self._settings.compute_units
        if begins > now:
            self._sleep(begins - now)

    def ask_all(self, work: Callable[[Q], A], questions: Sequence[Q]) -> list[A]:
        """Call `work`, which sends requests, for each of several arguments in parallel; all succeed or it raises.

        Raises:
            UpstreamError: The first failure.
        """
        if len(questions) <= 1:
            return [work(question) for question in questions]
        with ThreadPoolExecutor(min(AT_ONCE, len(questions)), "fork") as executor:
            return list(executor.map(work, questions))

    def _ask_once(
        self,
        target: _Url,
        method: str,
        params: Sequence[Any],
        deadline: float,
        limits: AnswerLimits,
    ) -> Raw:
        body = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": list(params)}
        try:
            answer = self._exchange.post(
                target.url, target.headers, _encode(body), deadline, limits.size
            )
        except Unanswered as failure:
            words = "it did not answer in time" if failure.late else "no connection"
            away = UpstreamAway(UpstreamReason.NO_ANSWER, host=target.shown, problem=words)
            raise _Again(away, self._settings.backoff) from None
        seconds = answers.seconds_until(answer.retry_after, self._settings.backoff)
        if answers.is_status_worth_it(answer.status):
            away = UpstreamAway(UpstreamReason.HTTP_STATUS, host=target.shown, status=answer.status)
            raise _Again(away, seconds)
        if answer.content is None:
            raise BadUpstreamAnswer(
                UpstreamReason.TOO_LONG, host=target.shown, method=method, limit=limits.size
            )
        return self._result(target, answer.status, answer.content, seconds, limits)

    def _result(
        self, target: _Url, status: int, content: bytes, seconds: float, limits: AnswerLimits
    ) -> Raw:
        try:
            result, raw_error = answers.read_answer(content, limits.bytes_for_value)
            error = answers.decode_uncounted(raw_error) if memoryview(raw_error).nbytes else None
        except BadUpstreamAnswer:
            result, error = Raw(), None
        if isinstance(error, dict):
            raise self._failure(target, error, seconds)
        if not memoryview(result).nbytes:
            if status >= 400:  # HTTP error statuses
                raise UpstreamRefused(status, f"{target.shown} answered with HTTP status {status}")
            raise BadUpstreamAnswer(UpstreamReason.NOT_JSON_RPC, host=target.shown)
        return result

    def _failure(self, target: _Url, error: Mapping[str, Any], seconds: float) -> Exception:
        code, message = error.get("code"), self._scrubbed(str(error.get("message", "")))
        code = code if isinstance(code, int) else 0
        if answers.is_forgotten(message):
            return UpstreamError(
                UpstreamReason.ARCHIVE_NEEDED, host=target.shown, message=message[:MAX_WORDS]
            )
        if answers.is_error_worth_it(code, message):
            return _Again(UpstreamRefused(code, message), seconds)
        return UpstreamRefused(code, message, error.get("data"))

    def _scrubbed(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text


def upstream_at(fork: ForkSettings, urls: Sequence[str]) -> Upstream:
    """Return a client for a fork's remote node; NODE_FORK_HEADERS are only sent to servers of NODE_FORK_URL.

    Args:
        fork: The settings of forks.
        urls: URLs of the remote node, from the settings or from a caller.

    Raises:
        MalformedForkSetting: NODE_FORK_URL or NODE_FORK_HEADERS cannot be read.
    """
    settings = ClientSettings(
        retries=fork.retries,
        timeout=fork.timeout,
        backoff=fork.retry_delay,
        compute_units=fork.compute_units,
        headers=read_headers(fork.headers),
        servers=servers_of(read_wanted(fork.url).urls),
    )
    return Upstream(urls, settings)


def _split(url: str, settings: ClientSettings) -> _Url:
    """Move user and password from a URL into a header, and choose the other headers."""
    parts = urlsplit(url)
    sent = {"Content-Type": "application/json"}
    if server_of(url) in settings.servers:
        sent |= settings.headers
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        sent["authorization"] = f"Basic {b64encode(login.encode()).decode()}"
        parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    return _Url(urlunsplit(parts), shown(url), sent)


def _secrets_of(urls: Sequence[str], headers: Mapping[str, str]) -> list[str]:
    """Return the texts that must not occur in messages, longest first."""
    secrets = set(headers.values())
    for url in urls:
        parts = urlsplit(url)
        secrets |= {parts.path.strip("/"), *parts.path.split("/"), parts.query}
        secrets |= {part.partition("=")[2] for part in parts.query.split("&")}
        secrets |= {parts.username or "", parts.password or ""}
    return sorted(
        (item for item in secrets if len(item) >= _SHORTEST_SECRET), key=len, reverse=True
    )
