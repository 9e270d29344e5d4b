"""Long calls of several connections run in the crate's threads, and other calls do not."""

import asyncio
import json
from typing import Any

import pytest

from cchain_app.api import shortcut
from cchain_app.memory import select
from jsonrpc.http.pooled import PooledRequests, Take
from tests.builders.process import restart_node
from tests.integration.cchain_app.api.hot_requests import one
from tests.integration.cchain_app.api.whole_requests import (
    COUNTER_TEXT,
    PLAIN,
    Served,
    calls,
    receive,
    request,
    responses,
    served_on,
)

pytestmark = [pytest.mark.sqlite_only, pytest.mark.usefixtures("patient")]


@pytest.fixture(autouse=True)
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no call wait for a thread because the machine is busy; with `crowded` all calls do."""
    monkeypatch.setattr(shortcut, "CORES", 1)


@pytest.fixture
def both(chain) -> tuple[Served, Served]:
    return served_on(chain)


@pytest.fixture
def crowded(one_core: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat each call as long, and the calls of two connections as concurrent."""
    monkeypatch.setattr(select, "SECONDS_OF_LONG", 0.0)
    monkeypatch.setattr(shortcut, "NEAR_SECONDS", 3600.0)
    monkeypatch.setattr(shortcut, "CORES", 4)
    restart_node()


@pytest.fixture
def handed_over(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The connections that wait for the crate's threads, one entry per wait."""
    seen: list[int] = []
    wait = PooledRequests.wait

    def noting(
        self: PooledRequests, loop: asyncio.AbstractEventLoop, connection: int, take: Take
    ) -> None:
        seen.append(connection)
        wait(self, loop, connection, take)

    monkeypatch.setattr(PooledRequests, "wait", noting)
    return seen


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize(
    "calls",
    [
        [{"to": COUNTER_TEXT}],
        # The second call cannot be answered there, but calls of its kind can.
        [{"to": COUNTER_TEXT}, {"to": COUNTER_TEXT, "gas": "0x5208"}],
    ],
)
@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas"])
def test_long_calls_of_several_connections_run_in_crate_threads(
    both, handed_over: list[int], method: str, calls: list[object]
) -> None:
    asked = [
        json.dumps({**one(method, call, "latest"), "id": n}).encode()
        for n, call in enumerate(calls)
    ]

    async def ask(served: Served) -> list[list[bytes]]:
        connections = [served.connect() for _ in range(4)]
        for _ in range(3):
            for body in asked:
                before = [len(transport.written) for _, transport in connections]
                for protocol, _ in connections:
                    await receive(protocol, request(PLAIN, body))
                for (_, transport), count in zip(connections, before, strict=True):
                    await transport.until(count + 1)
        for protocol, _ in connections:
            protocol.connection_lost(None)
        return [transport.written for _, transport in connections]

    found = [asyncio.run(ask(served)) for served in both]
    assert found[0] == found[1]
    assert (both[0].counted, both[0].endpoint.replies.read()) == (
        both[1].counted,
        both[1].endpoint.replies.read(),
    )
    assert len(set(handed_over)) >= 2


async def ask_by_turns(served: Served, body: bytes, count: int) -> None:
    """Send the body `count` times on each of two connections, in turns."""
    connections = [served.connect() for _ in range(2)]
    for number in range(1, count + 1):
        for protocol, transport in connections:
            await receive(protocol, request(PLAIN, body))
            await transport.until(number)
    for protocol, _ in connections:
        protocol.connection_lost(None)


@pytest.mark.usefixtures("crowded")
def test_failing_calls_are_soon_not_handed_to_threads(both, handed_over: list[int]) -> None:
    short_of_gas = {"to": COUNTER_TEXT, "gas": "0x5208"}
    # A call that waits too long on a busy machine does not count as a failure of its kind.
    for call, most in (({"to": COUNTER_TEXT}, 40), (short_of_gas, 20)):
        handed_over.clear()
        body = json.dumps(one("eth_call", call, "latest")).encode()
        asyncio.run(ask_by_turns(both[1], body, 20))
        assert 0 < len(handed_over) <= most


@pytest.mark.usefixtures("crowded")
def test_the_time_of_the_loop_keeps_no_call_from_threads(
    both, handed_over: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(select, "SECONDS_OF_WHOLE", 0.0)
    restart_node()
    served = Served(whole=True)
    body = calls()[0]
    served.endpoint.dispatcher.answer(body)
    asyncio.run(ask_by_turns(served, body, 10))
    assert handed_over


def with_web_workers(count: int, *, in_threads: bool) -> Any:
    return pytest.param(
        in_threads, marks=pytest.mark.node_settings(web_workers=count), id=f"{count}"
    )


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize(
    "in_threads",
    [
        with_web_workers(1, in_threads=True),
        with_web_workers(2, in_threads=True),
        with_web_workers(3, in_threads=False),
        with_web_workers(8, in_threads=False),
    ],
)
def test_a_process_has_its_share_of_the_cores(
    both, handed_over: list[int], *, in_threads: bool
) -> None:
    asyncio.run(ask_by_turns(both[1], calls()[0], 5))
    assert bool(handed_over) is in_threads


@pytest.mark.usefixtures("crowded")
def test_calls_of_one_connection_run_without_thread(both, handed_over: list[int]) -> None:
    asked = [body for body in calls() if body.startswith(b"{")]
    assert len(responses(both[1], asked * 3)) == 6 * len(asked)
    assert handed_over == []
