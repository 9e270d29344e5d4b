"""The door at `/ext/health`: `health.*` over JSON-RPC, and the same reports as plain pages for GET.

Everything answers from the reporter's memory, without database and thread (specification 4.3).
"""

from collections.abc import Callable, Collection, Mapping
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec

from health_app.reporter import reporter
from health_app.result import Json, Report
from jsonrpc.params import Param
from jsonrpc.registry import MethodRegistry
from platform_app.api import params

HEALTH: Final = MethodRegistry()

_TAGS: Final = Param("tags", params.list_of(params.text, ""), ())


class Answer(NamedTuple):
    """A page: its status and JSON text."""

    status: HTTPStatus
    body: bytes


def health(tags: Collection[str]) -> Json:
    """health.health: all checks, or those that have one of the tags.

    Unspecified: also of an unhealthy node, with the status 200; only GET answers 503.
    """
    return reporter().health(tags).shown()


def readiness(tags: Collection[str]) -> Json:
    """health.readiness: whether the node has been fully bootstrapped."""
    return reporter().readiness(tags).shown()


def liveness(tags: Collection[str]) -> Json:
    """health.liveness: that the node answers."""
    return reporter().liveness(tags).shown()


def health_page(tags: Collection[str]) -> Answer:
    """Return the full report."""
    return _page(reporter().health(tags))


def readiness_page(tags: Collection[str]) -> Answer:
    """Return whether the node is ready to serve."""
    return _page(reporter().readiness(tags))


def liveness_page(tags: Collection[str]) -> Answer:
    """Return that the node is alive."""
    return _page(reporter().liveness(tags))


PAGES: Final[Mapping[str, Callable[[Collection[str]], Answer]]] = {
    "/ext/health": health_page,
    "/ext/health/health": health_page,
    "/ext/health/readiness": readiness_page,
    "/ext/health/liveness": liveness_page,
}
"""By path. Pages take the tags of the query (`?tag=…&tag=…`)."""


def _page(report: Report) -> Answer:
    """Return a report as a page: 503 when a check fails, as monitors expect it (gaps.md 7)."""
    status = HTTPStatus.OK if report.healthy else HTTPStatus.SERVICE_UNAVAILABLE
    return Answer(status, msgspec.json.encode(report.shown()) + b"\n")


HEALTH.add("health.health", health, params=[_TAGS], hot=True)
HEALTH.add("health.readiness", readiness, params=[_TAGS], hot=True)
HEALTH.add("health.liveness", liveness, params=[_TAGS], hot=True)
