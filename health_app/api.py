"""The door at `/ext/health`: `health.*` over JSON-RPC, and the same reports as plain pages for GET.

Everything answers from the reporter's memory, without database and thread (specification 4.3).
"""

from collections.abc import Callable, Collection, Mapping
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec

from health_app.reporter import Reporter
from health_app.result import Json, Report
from jsonrpc.params import Param
from jsonrpc.registry import MethodRegistry
from platform_app.api import params

_TAGS: Final = Param("tags", params.list_of(params.text, ""), ())


class Answer(NamedTuple):
    """A page: its status and JSON text."""

    status: HTTPStatus
    body: bytes


class HealthApi:
    """The reports of one reporter. Pages take the tags of the query (`?tag=…&tag=…`)."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    def methods(self) -> MethodRegistry:
        """Return the table of `health.*`."""
        methods = MethodRegistry()
        methods.add("health.health", self.health, params=[_TAGS], hot=True)
        methods.add("health.readiness", self.readiness, params=[_TAGS], hot=True)
        methods.add("health.liveness", self.liveness, params=[_TAGS], hot=True)
        return methods

    def pages(self) -> Mapping[str, Callable[[Collection[str]], Answer]]:
        """Return what is shown, by path."""
        reporter = self._reporter
        return {
            "/ext/health": lambda tags: _page(reporter.health(tags)),
            "/ext/health/health": lambda tags: _page(reporter.health(tags)),
            "/ext/health/readiness": lambda tags: _page(reporter.readiness(tags)),
            "/ext/health/liveness": lambda tags: _page(reporter.liveness(tags)),
        }

    def health(self, tags: Collection[str]) -> Json:
        """health.health: all checks, or those that have one of the tags.

        Unspecified: also of an unhealthy node, with the status 200; only GET answers 503.
        """
        return self._reporter.health(tags).to_json()

    def readiness(self, tags: Collection[str]) -> Json:
        """health.readiness: whether the node has been fully bootstrapped."""
        return self._reporter.readiness(tags).to_json()

    def liveness(self, tags: Collection[str]) -> Json:
        """health.liveness: that the node answers."""
        return self._reporter.liveness(tags).to_json()


def _page(report: Report) -> Answer:
    """Return a report as a page: 503 when a check fails, as monitors expect it (gaps.md 7)."""
    status = HTTPStatus.OK if report.healthy else HTTPStatus.SERVICE_UNAVAILABLE
    return Answer(status, msgspec.json.encode(report.to_json()) + b"\n")
