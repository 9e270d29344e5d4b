"""A server answers for its EVM chains first; what else it serves is created beside that, and requests wait for it."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from chaindb.indexing import REST_SECONDS, IndexingTime
from nodeproject import asgi
from nodeproject.apps import this_node, use
from nodeproject.asgi import Application
from nodeproject.management.commands import runnode
from nodeproject.node import Node
from platform_app import notifications
from primitives.ids import EMPTY_ID
from tests.builders.modules import module_with
from tests.integration.conftest import Chain
from tests.unit.jsonrpc.test_endpoints import JSON, ask

pytestmark = pytest.mark.sqlite_only

LATE = {"platform_chain", "avm_chain", "network", "observation", "plain"}
NETWORK_ID = b'{"jsonrpc":"2.0","id":1,"method":"info.getNetworkID"}'


@pytest.fixture
def node(shared_chain: Chain) -> Iterator[Node]:
    """A node that has just started; health checks and searches for chains of subnets do not run."""
    before = this_node()
    made = Node(before.settings)
    use(made)
    made.connect_consensus()
    yield made
    made.endpoints.workers.close()
    use(before)


@pytest.fixture
def application(node: Node, monkeypatch: pytest.MonkeyPatch) -> Application:
    monkeypatch.setattr("nodeproject.asgi.ChainFinder.start", lambda _: None)
    monkeypatch.setattr("health_app.reporter.Reporter.start", lambda _: None)
    monkeypatch.setattr(node, "find_chains", lambda: None)
    monkeypatch.setattr(
        "nodeproject.startup.subnet_chains.SubnetChains.look_and_release", lambda _: None
    )
    return Application(node)


class Creation:
    """Lets a test decide when the rest is created, and how often that fails before."""

    def __init__(self, node: Node, failures: int = 0) -> None:
        self._serve_all = node.serve_all
        self._failures = failures
        self.begun = threading.Event()
        self.may_go_on = threading.Event()
        node.serve_all = self  # type: ignore[method-assign]

    def __call__(self) -> None:
        self.begun.set()
        assert self.may_go_on.wait(60)
        if self._failures:
            self._failures -= 1
            raise OSError("no descriptors")
        self._serve_all()


@asynccontextmanager
async def lifespan(application: Any) -> AsyncIterator[None]:
    """Start the application, and shut it down."""
    inbox: asyncio.Queue[Any] = asyncio.Queue()
    outbox: asyncio.Queue[Any] = asyncio.Queue()
    task = asyncio.create_task(application({"type": "lifespan"}, inbox.get, outbox.put))
    await inbox.put({"type": "lifespan.startup"})
    assert (await outbox.get())["type"] == "lifespan.startup.complete"
    yield
    await inbox.put({"type": "lifespan.shutdown"})
    assert (await outbox.get())["type"] == "lifespan.shutdown.complete"
    await task


async def network_id(application: Any) -> int:
    answer = await ask(application, "POST", "/ext/info", JSON, parts=(NETWORK_ID,))
    assert answer.status == 200
    return int(json.loads(answer.body)["result"]["networkID"])


def test_a_start_creates_only_what_evm_chains_need(node: Node, application: Any) -> None:
    assert not LATE & node.__dict__.keys()
    answer = node.endpoints.table["/ext/bc/C/rpc"].dispatcher.answer(
        b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
    )
    assert b"result" in (answer or b"")
    assert not LATE & node.__dict__.keys()
    assert "/ext/bc/P" not in node.endpoints.table


async def test_requests_wait_for_the_rest_and_get_their_answer(
    node: Node, application: Any
) -> None:
    creation = Creation(node)
    async with lifespan(application):
        assert await asyncio.to_thread(creation.begun.wait, 60)
        asked = [asyncio.create_task(network_id(application)) for _ in range(3)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in asked)
        creation.may_go_on.set()
        assert await asyncio.gather(*asked) == [12345] * 3
        assert "/ext/bc/P" in node.endpoints.table
        assert node.__dict__.keys() >= LATE


async def test_a_shutdown_does_not_wait_for_a_creation_that_hangs(
    node: Node, application: Any
) -> None:
    creation = Creation(node)
    async with lifespan(application):
        assert await asyncio.to_thread(creation.begun.wait, 60)
    creation.may_go_on.set()


async def test_a_request_tries_again_what_failed_at_the_start(
    node: Node, application: Any, caplog: pytest.LogCaptureFixture
) -> None:
    creation = Creation(node, failures=1)
    creation.may_go_on.set()
    async with lifespan(application):
        assert await network_id(application) == 12345
    assert "the interfaces besides those of EVM chains could not be created" in caplog.text


async def test_servers_without_lifespan_create_the_rest_with_the_first_request(
    node: Node, application: Any
) -> None:
    assert await network_id(application) == 12345
    await application._stop()


def test_the_first_transaction_asks_the_consensus_of_the_network(node: Node) -> None:
    assert "network" not in node.__dict__
    assert node.evm_runtime.consensus.decides_alone
    assert node.evm_runtime.consensus is node.network.chains["C"].consensus
    assert node.platform_runtime.consensus is node.network.chains["P"].consensus
    assert node.avm_runtime.consensus is node.network.chains["X"].consensus


def test_indexes_rest_while_any_thread_of_the_process_computes(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, computed = 100.0, 7.0
    clock = module_with(time, process_time=lambda: computed)
    monkeypatch.setattr(runnode, "time", clock)
    node.evm_chain.indexing = IndexingTime("embedded", clock=lambda: now)
    runnode._prepare(node)
    given = []
    for _ in range(int(REST_SECONDS)):  # another thread computes for nine tenths of each second
        now, computed = now + 1, computed + 0.9
        given.append(node.evm_chain.indexing.seconds("calls") > 0)
    assert given == [True, *[False] * (len(given) - 1)]
    now += 1
    assert node.evm_chain.indexing.seconds("calls") > 0


async def test_chains_are_looked_for_when_blockchains_change_but_not_at_each_block(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: asyncio.Queue[None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for name in ("FIND_SECONDS", "FIND_SECONDS_LOCAL"):
        monkeypatch.setattr(asgi, name, 3600.0)

    def look() -> None:
        loop.call_soon_threadsafe(looks.put_nowait, None)

    monkeypatch.setattr(node.subnet_chains, "look", look)
    finder = asgi.ChainFinder(node)
    wakes: list[None] = []
    monkeypatch.setattr(finder._wanted, "set", lambda wake=finder._wanted.set: wakes.append(wake()))
    finder.start()
    try:
        async with asyncio.timeout(60):
            await looks.get()
            notifications.head_accepted(node.platform_chain, 1, EMPTY_ID)
            notifications.blockchains_changed(node.platform_chain)
            await looks.get()
    finally:
        await finder.stop()
    assert len(wakes) == 1  # events arrive in order, so that of the head has arrived too
