"""/ext/bc/C/ws: the same methods as over HTTP, and subscriptions to real blocks."""

import asyncio
import json
import threading
from typing import Any

import pytest
from django.core.exceptions import SynchronousOnlyOperation

from cchain_app import models
from cchain_app.api import registry
from cchain_app.api.eth import head_listener
from cchain_app.api.rpc import SentHeads
from cchain_app.consumers import EthConsumer
from cchain_app.services import transactions
from chaindb.connections import WouldBlock, in_thread, release
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.workers import Workers
from jsonrpc.http.answering import Answering
from jsonrpc.http.replies import Endpoint
from jsonrpc.websocket.hub import Hub
from nodeproject.apps import this_node
from tests.builders import bytecode
from tests.builders.transactions import SENDER
from tests.integration.patience import SECONDS, PatientCommunicator

LOGGER = bytecode.created(SENDER, 0)


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


class Socket:
    """A client of the WebSocket consumer."""

    def __init__(self, application: Any) -> None:
        self._communicator = PatientCommunicator(application, "/ext/bc/C/ws")

    async def __aenter__(self) -> "Socket":
        accepted, _ = await self._communicator.connect()
        assert accepted
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._communicator.disconnect()

    async def send(self, identifier: int, method: str, *params: Any) -> None:
        body = {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}
        await self._communicator.send_to(text_data=json.dumps(body))

    async def call(self, method: str, *params: Any) -> Any:
        await self.send(7, method, *params)
        answer = await self.next()
        assert answer["id"] == 7
        return answer["result"] if "result" in answer else answer["error"]

    async def next(self) -> Any:
        return json.loads(await self._communicator.receive_from())

    async def silent(self) -> bool:
        return await self._communicator.receive_nothing(timeout=0.1)


@pytest.fixture
def application(shared_chain, monkeypatch):
    """The consumer with its own listeners and threads."""
    monkeypatch.setattr(this_node().evm_rpc, "hub", Hub())
    monkeypatch.setattr(this_node().evm_rpc, "heads", SentHeads())
    dispatcher = Dispatcher(
        registry(this_node().evm_rpc), would_block=(SynchronousOnlyOperation, WouldBlock)
    )
    workers = Workers(2, 16, after=release)
    endpoint = Endpoint(("/ext/bc/C/rpc",), dispatcher)
    yield EthConsumer.as_asgi(
        rpc=this_node().evm_rpc, endpoint=endpoint, answering=Answering(workers)
    )
    workers.close()


async def accept(chain, **fields):
    """Make a block with a transaction, and announce it."""
    _, block = await in_thread(lambda: chain.do(**fields))
    await head_listener.head_accepted(this_node().evm_rpc, block.number)
    return block


async def test_the_methods_are_those_of_http(application, shared_chain):
    async with Socket(application) as socket:
        assert await socket.call("eth_chainId") == "0xa868"
        found = await socket.call("eth_getBlockByNumber", "latest", False)
        assert found["hash"] == hexed(shared_chain.genesis.hash)


async def test_new_heads_arrive_after_the_confirmation(application, shared_chain):
    async with Socket(application) as socket:
        identifier = await socket.call("eth_subscribe", "newHeads")
        block = await accept(shared_chain)
        message = await socket.next()
        assert message["method"] == "eth_subscription"
        assert message["params"]["subscription"] == identifier
        assert message["params"]["result"]["hash"] == hexed(block.hash)
        assert await socket.call("eth_unsubscribe", identifier) is True
        await accept(shared_chain)
        assert await socket.silent()


async def test_logs_arrive_separately(application, shared_chain):
    await accept(
        shared_chain, to=None, data=bytecode.deploy_code(bytecode.LOGGER), gas=500_000, value=0
    )
    async with Socket(application) as socket:
        wanted = {"address": hexed(LOGGER)}
        await socket.call("eth_subscribe", "logs", wanted)
        await accept(shared_chain, to=LOGGER, data=b"\x2a", gas=100_000, value=0)
        heard = [(await socket.next())["params"]["result"] for _ in range(2)]
        assert heard == await socket.call("eth_getLogs", wanted)


async def test_pending_transactions_arrive(application, shared_chain):
    async with Socket(application) as socket:
        await socket.call("eth_subscribe", "newPendingTransactions", True)
        sent = shared_chain.make()
        await in_thread(shared_chain.send, sent)
        await head_listener.pending_transactions(this_node().evm_rpc, [sent.hash])
        result = (await socket.next())["params"]["result"]
        assert (result["hash"], result["blockHash"]) == (hexed(sent.hash), None)


async def test_submissions_by_several_sockets_share_commits(application, shared_chain, monkeypatch):
    made = [shared_chain.make() for _ in range(31)]
    commits, go = [], threading.Event()

    admit = transactions.admit

    def held(runtime, newcomers):
        commits.append(len(newcomers))
        go.wait(SECONDS)
        return admit(runtime, newcomers)

    monkeypatch.setattr(transactions, "admit", held)
    async with Socket(application) as one, Socket(application) as two, Socket(application) as three:
        sockets = (one, two, three)
        await one.send(30, "eth_sendRawTransaction", hexed(made[30].raw))
        async with asyncio.timeout(SECONDS):
            while not commits:
                await asyncio.sleep(0.01)
        for index in range(30):
            await sockets[index % 3].send(index, "eth_sendRawTransaction", hexed(made[index].raw))
        for socket in sockets:
            # Answered immediately, although the transactions sent earlier are still in progress.
            assert await socket.call("eth_chainId") == "0xa868"
        go.set()
        for place, socket in enumerate(sockets):
            wanted = {index: hexed(made[index].hash) for index in range(place, 31, 3)}
            answers = [await socket.next() for _ in wanted]
            assert {answer["id"]: answer["result"] for answer in answers} == wanted

    assert commits == [1, 30]
    waiting = await in_thread(models.PoolTransaction.objects.count)
    assert waiting == 31


async def test_input_that_cannot_be_subscribed_to_is_an_error(application, shared_chain):
    async with Socket(application) as socket:
        assert await socket.call("eth_subscribe", "oldHeads") == {
            "code": -32601, "message": 'no "oldHeads" subscription in eth namespace',
        }  # fmt: skip
        assert await socket.call("eth_unsubscribe", "0x1") == {
            "code": -32000, "message": "subscription not found",
        }  # fmt: skip
