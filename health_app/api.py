"""The health endpoints at `/ext/health`: `health.*` over JSON-RPC, and the same reports as JSON for GET requests.

All answers come from the reporter's memory, without a query and without a thread (specification 4.3).
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

from health_app.reporter import Reporter
from health_app.result import Report
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from platform_app.api import params

Show = Callable[[Collection[str]], Report]
"""A kind of report, restricted to checks that have one of the tags."""

_END: Final = b"\n"
_TAGS: Final = Param("tags", params.list_of(params.text, ""), ())


class HealthReply(NamedTuple):
    """The reply to a GET request: its status and JSON body."""

    status: HTTPStatus
    body: bytes


class HealthApi:
    """The endpoints of one reporter. Pages take tags from the query (`?tag=…&tag=…`).

    A page without tags is rendered once and cached until a check has run again.
    """

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._rendered: dict[Show, tuple[int, HealthReply]] = {}

    def methods(self) -> MethodRegistry:
        """Return the `health.*` methods."""
        methods = MethodRegistry()
        methods.add("health.health", self.health, params=[_TAGS], hot=True)
        methods.add("health.readiness", self.readiness, params=[_TAGS], hot=True)
        methods.add("health.liveness", self.liveness, params=[_TAGS], hot=True)
        return methods

    def pages(self) -> Mapping[str, Callable[[Collection[str]], HealthReply]]:
        """Return the pages by path."""
        reporter = self._reporter
        return {
            "/ext/health": partial(self._page, reporter.health),
            "/ext/health/health": partial(self._page, reporter.health),
            "/ext/health/readiness": partial(self._page, reporter.readiness),
            "/ext/health/liveness": partial(self._page, reporter.liveness),
        }

    def health(self, tags: Collection[str]) -> Raw:
        """health.health: all checks, or those that have one of the tags.

        Unspecified: the HTTP status is 200 for an unhealthy node, too; only GET requests answer 503.
        """
        return self._result(self._reporter.health, tags)

    def readiness(self, tags: Collection[str]) -> Raw:
        """health.readiness: whether the node has been fully bootstrapped once."""
        return self._result(self._reporter.readiness, tags)

    def liveness(self, tags: Collection[str]) -> Raw:
        """health.liveness: that the node answers."""
        return self._result(self._reporter.liveness, tags)

    def _result(self, show: Show, tags: Collection[str]) -> Raw:
        return Raw(self._page(show, tags).body.removesuffix(_END))

    def _page(self, show: Show, tags: Collection[str]) -> HealthReply:
        version = None if tags else self._reporter.version()
        if version is None:
            return _page(show(tags))
        cached = self._rendered.get(show)
        if cached is not None and cached[0] == version:
            return cached[1]
        page = _page(show(()))
        if self._reporter.version() == version:
            self._rendered[show] = (version, page)
        return page


def _page(report: Report) -> HealthReply:
    """Return a report as a page: 503 if a check fails, as monitors expect (gaps.md 7)."""
    status = HTTPStatus.OK if report.healthy else HTTPStatus.SERVICE_UNAVAILABLE
    return HealthReply(status, msgspec.json.encode(report.to_json()) + _END)
