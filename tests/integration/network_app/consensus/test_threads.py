"""Five runners on a real event loop, with a real thread for each chain; only the wires are simulated in memory."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from random import Random
from typing import TypeVar

import pytest

from tests.builders.memory_network import until
from tests.simulation.driven import DrivenNode
from tests.simulation.network import SimulatedNetwork, identities
from tests.simulation.node import HonestNode
from tests.simulation.virtual import LoopBus

pytestmark = pytest.mark.sqlite_only

T = TypeVar("T")

NODES = identities(5)


class ThreadedNode(DrivenNode):
    """A node whose VM runs in a thread of its own."""

    def start(self) -> None:
        self._executor = ThreadPoolExecutor(1)
        super().start()

    async def run_work(self, work: Callable[..., T], /, *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *args)

    async def ended(self) -> None:
        """Stop, and wait until all tasks have ended."""
        self.stop()
        await asyncio.wait(self._tasks)
        await asyncio.to_thread(self._executor.shutdown)


class ThreadedNetwork(SimulatedNetwork):
    """A network of such nodes on the running event loop."""

    honest_kind = ThreadedNode

    def make_bus(self, random: Random, loss: float) -> LoopBus:
        return LoopBus(random, loss, asyncio.get_running_loop())

    def all_have(self, height: int) -> bool:
        """Return whether all nodes have accepted blocks up to a height."""
        assert isinstance(self.bus, LoopBus)
        self.bus.see()
        return all(node.height >= height for node in self.honest)


@asynccontextmanager
async def running() -> AsyncIterator[ThreadedNetwork]:
    network = ThreadedNetwork(1, NODES)
    network.bus.latency = (0.0, 0.002)
    try:
        yield network
    finally:
        for node in network.honest:
            assert isinstance(node, ThreadedNode)
            await node.ended()
    assert isinstance(network.bus, LoopBus)
    network.bus.see()


def accepted(node: HonestNode) -> list[str]:
    return [block.text for block in node.inner.accepted]


async def test_all_accept_the_same_blocks_in_the_same_order() -> None:
    async with running() as network:
        network.issue(3)
        await until(lambda: network.all_have(3))
        texts = accepted(network.honest[0])
        assert sorted(texts) == ["genesis", "tx 1", "tx 2", "tx 3"]
        assert [accepted(node) for node in network.honest] == [texts] * 5


async def test_node_recovers_from_failed_commit_and_absence() -> None:
    async with running() as network:
        failing, away = network.honest[:2]
        assert isinstance(failing, ThreadedNode)
        assert isinstance(away, ThreadedNode)
        failing.inner.fails = True
        network.issue()
        await until(lambda: failing.runner.report().totals.restarts > 0)
        failing.inner.fails = False
        await until(lambda: network.all_have(1))
        await away.ended()
        network.issue()
        others = [node for node in network.honest if node is not away]
        await until(lambda: all(node.height >= 2 for node in others))
        away.start()
        await until(lambda: network.all_have(2))
        assert [accepted(node) for node in network.honest] == [accepted(failing)] * 5
