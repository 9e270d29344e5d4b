"""Abusive clients at the admin and at polled filters are limited themselves; other clients are not affected."""

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from threading import Barrier
from typing import Any
from urllib.parse import urlencode

import pytest

from nodeproject.startup.process import DJANGO_THREADS
from tests.e2e.checked import CheckedNode

LOGINS = 120
STRANGER, OPERATOR = "127.0.0.66", "127.0.0.2"
PATIENCE = 60.0
CEILING = 5.0
"""Most seconds of a liveness request: far more than it takes even on a busy machine."""
OTHER_THREADS = 8
"""Threads that a node starts only when they are first needed."""


class Visitor:
    """A client of the login page that connects from a given loopback address."""

    def __init__(self, port: int, address: str) -> None:
        self._connection = HTTPConnection(
            "127.0.0.1", port, timeout=PATIENCE, source_address=(address, 0)
        )
        page = self._ask("GET", "/admin/login/")
        found = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page.read().decode())
        assert found is not None
        self._token = found[1]
        self._cookie = page.headers["Set-Cookie"].partition(";")[0]

    def close(self) -> None:
        self._connection.close()

    def log_in(self, name: str, password: str) -> HTTPResponse:
        """Send the form and return the response, whose body has been read."""
        form = {"csrfmiddlewaretoken": self._token, "username": name, "password": password}
        headers = {"content-type": "application/x-www-form-urlencoded", "cookie": self._cookie}
        answer = self._ask("POST", "/admin/login/", urlencode(form | {"next": "/admin/"}), headers)
        answer.read()
        return answer

    def _ask(
        self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> HTTPResponse:
        self._connection.request(method, path, body, headers or {})
        return self._connection.getresponse()


def threads(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("Threads:")[2].split()[0])


def watch(node: CheckedNode, until: list[Future[int]]) -> Iterator[tuple[float, int]]:
    """Yield the duration of a liveness request and the node's number of threads, until all futures are done."""
    with closing(HTTPConnection("127.0.0.1", node.port, timeout=PATIENCE)) as connection:
        while not all(item.done() for item in until):
            started = time.monotonic()
            connection.request("GET", "/ext/health/liveness")
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
            yield time.monotonic() - started, threads(node.pid)


@pytest.mark.parametrize("node", ["embedded", "daphne"], indirect=True)
def test_flood_of_logins_uses_few_threads_and_delays_no_other(node: CheckedNode) -> None:
    visitors = [Visitor(node.port, STRANGER) for _ in range(LOGINS)]
    before = threads(node.pid)
    together = Barrier(LOGINS)

    def guess(visitor: Visitor) -> int:
        together.wait(PATIENCE)
        with closing(visitor):
            return visitor.log_in("admin", "wrong").status

    with ThreadPoolExecutor(LOGINS) as pool:
        guesses = [pool.submit(guess, visitor) for visitor in visitors]
        seen = list(watch(node, guesses))
    statuses = [item.result() for item in guesses]

    assert max(count for _, count in seen) <= before + DJANGO_THREADS + OTHER_THREADS
    assert max(seconds for seconds, _ in seen) < CEILING
    assert set(statuses) <= {200, 429, 503}
    assert statuses.count(503) > 0, "nobody was told to come again"
    with closing(Visitor(node.port, OPERATOR)) as operator:
        password = (node.directory / "data" / "admin_password").read_text().strip()
        answer = operator.log_in("admin", password)
    assert (answer.status, answer.headers["Location"]) == (302, "/admin/")


def test_repeated_failed_logins_are_locked_with_retry_time(node: CheckedNode) -> None:
    with closing(Visitor(node.port, "127.0.0.67")) as visitor:
        answers = [visitor.log_in("admin", "wrong") for _ in range(6)]

    assert [answer.status for answer in answers] == [200] * 5 + [429]
    assert int(answers[-1].headers["Retry-After"]) > 0


BATCHES, FILTERS = 11, 1000


def asked(port: int, address: str, body: Any) -> Any:
    """Send a body from a given loopback address and return the answer."""
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE, source_address=(address, 0))
    with closing(connection):
        headers = {"content-type": "application/json"}
        connection.request("POST", "/ext/bc/C/rpc", json.dumps(body), headers)
        return json.load(connection.getresponse())


def call(method: str, *params: str, number: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


@pytest.mark.parametrize("node", ["embedded", "production"], indirect=True)
def test_flood_of_filters_does_not_affect_other_clients(node: CheckedNode) -> None:
    kept = asked(node.port, OPERATOR, call("eth_newBlockFilter"))["result"]
    batch = [call("eth_newBlockFilter", number=number) for number in range(FILTERS)]
    made: list[str] = []
    for _ in range(BATCHES):
        answers = asked(node.port, STRANGER, batch)
        made += [answer["result"] for answer in answers]

    fresh = asked(node.port, OPERATOR, call("eth_newBlockFilter"))["result"]
    for value in (kept, fresh, made[-1]):
        assert asked(node.port, OPERATOR, call("eth_getFilterChanges", value))["result"] == []
    lost = asked(node.port, STRANGER, call("eth_getFilterChanges", made[0]))["error"]
    assert (lost["code"], lost["message"]) == (-32000, "filter not found")
