"""Clients are notified of followed blocks in the same way as of blocks built by this node."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.conf import settings

from cchain_app import models, notifications
from cchain_app.api.eth import head_listener
from cchain_app.api.eth.head_listener import HeadListener
from cchain_app.apps import evm_chain
from cchain_app.memory import make_memory
from cchain_app.selectors import blocks
from chaindb.connections import in_thread
from chaindb.events import ChainEvents
from network_app.selectors import progress
from nodeproject.apps import this_node
from tests.builders import bytecode
from tests.builders.transactions import SENDER
from tests.integration.cchain_app.api.test_websocket import Socket, application, hexed
from tests.integration.cchain_app.followed import follow, rewind
from tests.integration.patience import SECONDS, groups_joined

__all__ = ["application"]

LOGGER = bytecode.created(SENDER, 0)


@pytest.fixture
def candidates(chain, monkeypatch):
    """Three blocks, the first with a contract, the last with its logs; the chain is then rewound."""
    return make(chain, monkeypatch)


@pytest.fixture
def shared_candidates(shared_chain, monkeypatch):
    """The same, also visible to other threads."""
    return make(shared_chain, monkeypatch)


def make(chain, monkeypatch):
    deployment = bytecode.deploy_code(bytecode.LOGGER)
    with monkeypatch.context() as untold:
        # Otherwise a follower could receive these blocks through Redis after they were removed.
        untold.setattr(ChainEvents, "send", lambda *_: None)
        chain.do(to=None, data=deployment, gas=500_000, value=0)
        chain.mine()
        chain.do(to=LOGGER, data=b"\x2a", gas=100_000, value=0)
    return rewind(monkeypatch)


@pytest.fixture
async def follower(shared_candidates, monkeypatch) -> AsyncIterator[HeadListener]:
    """The head listener of a web process, on this event loop; it only receives chain events."""
    monkeypatch.setattr("cchain_app.api.eth.head_listener.TICK", 3600)
    joined = groups_joined(monkeypatch)
    made = HeadListener(this_node().evm_rpc, progress)
    await in_thread(blocks.head, evm_chain())
    made.start()
    if settings.NODE.common.profile == "production":
        await asyncio.wait_for(joined.wait(), SECONDS)
    yield made
    await made.stop()


def test_filters_that_are_polled_report_followed_blocks(candidates, rpc):
    heads = rpc("eth_newBlockFilter")
    logs = rpc("eth_newFilter", {"address": hexed(LOGGER)})
    pending = rpc("eth_newPendingTransactionFilter")

    follow(*candidates)

    assert rpc("eth_getFilterChanges", heads) == [hexed(candidate.hash) for candidate in candidates]
    found = rpc("eth_getFilterChanges", logs)
    assert [item["blockNumber"] for item in found] == ["0x3", "0x3"]
    mined = [hexed(row.hash) for row in models.Transaction.objects.order_by("id")]
    assert rpc("eth_getFilterChanges", pending) == mined
    assert rpc("eth_getFilterChanges", heads) == []


async def test_subscribers_receive_each_followed_block(
    shared_candidates: Any, application, follower
):
    async with Socket(application) as socket:
        heads = await socket.call("eth_subscribe", "newHeads")
        logs = await socket.call("eth_subscribe", "logs", {"address": hexed(LOGGER)})

        await in_thread(lambda: follow(*shared_candidates))

        heard = [(await socket.next())["params"] for _ in range(5)]
        of_heads = [item["result"]["hash"] for item in heard if item["subscription"] == heads]
        assert of_heads == [hexed(shared_candidate.hash) for shared_candidate in shared_candidates]
        of_logs = [other["result"]["logIndex"] for other in heard if other["subscription"] == logs]
        assert of_logs == ["0x0", "0x1"]


async def test_response_precedes_notifications_of_its_block(follower, monkeypatch):
    loop, order = asyncio.get_running_loop(), []
    told = asyncio.Event()

    async def tell(*_given: object) -> None:
        order.append("told")
        told.set()

    def settled() -> None:  # the result exists; code that awaits it resumes in the next turn
        loop.call_soon(loop.call_soon, written)

    def written() -> None:
        order.append("written")
        loop.call_soon(order.append, "on its way")

    monkeypatch.setattr(head_listener, "head_accepted", tell)
    head = await in_thread(blocks.head, evm_chain())

    evm_chain().events.send(evm_chain().name, notifications.head_accepted(head.number, head.hash))
    loop.call_soon(settled)
    await asyncio.wait_for(told.wait(), SECONDS)

    assert order == ["written", "on its way", "told"]


async def test_a_web_process_moves_to_blocks_that_another_process_followed(
    shared_candidates: Any, application, follower, monkeypatch
):
    memory = evm_chain().memory
    async with Socket(application) as socket:
        await socket.call("eth_subscribe", "newHeads")
        # The network process has its own memory, and its announcements arrive a moment later.
        other = make_memory(native=memory.answers is not None, accounts=10, slots=10, blocks=64)
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(evm_chain(), "memory", other)
            elsewhere.setattr(evm_chain().events, "send", lambda *_: None)
            (block,) = await in_thread(lambda: follow(shared_candidates[0]))
        assert (other.blocks.head, memory.blocks.head.number) == (block, 0)
        evm_chain().events.send(
            evm_chain().name, notifications.head_accepted(block.number, block.hash)
        )
        heard = (await socket.next())["params"]["result"]

    assert heard["hash"] == hexed(block.hash)
    assert memory.blocks.head == block
