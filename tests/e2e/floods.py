"""A running node that is flooded by unknown peers, and the evidence of it: its log, its peers, its metrics.

The peers themselves are in `strangers`; the tests define the floods.
"""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

from typing_extensions import override

from primitives.identity import KeyAndCertificate
from primitives.node_identity import IdentityFiles
from tests.builders.nodes import Node
from tests.builders.peers import Stranger
from tests.e2e.network import LocalNetwork, NetworkNode, wait_for
from tests.e2e.platform_client import PlatformClient
from tests.servers.client import RpcClient
from tests.servers.process import resident_bytes

RPC_SECONDS = 12.0
"""Seconds within which RPC must answer during a flood: less than the 15 s after which the node disconnects
silent peers. Benchmarks measure how fast RPC is otherwise."""
PATIENCE = 120.0
"""Seconds until a test gives up waiting."""
PAUSE = 0.05

_ENDED = re.compile(r"network_app\.peers\.connection_tasks  (\S+) at (\S+): (.*)")


class Ending(NamedTuple):
    """The log entry for the end of a connection."""

    node_id: str
    """Node ID of the peer, or "None" if the TLS handshake never completed."""
    reason: str


class Flooded:
    """The only running node of a network of five validators, and the keys of the other four."""

    def __init__(self, network: LocalNetwork) -> None:
        self.node: NetworkNode = network.nodes[0]
        self.others = [_keys_of(node.directory / "data") for node in network.nodes[1:]]
        network.start([self.node])
        self.before = self._memory_at_rest()
        self._read = 0

    @property
    def address(self) -> tuple[str, int]:
        """The IP address and port for peers."""
        return self.node.ip, self.node.staking_port

    def forget(self) -> None:
        """Make `endings` ignore the log up to now, because the system reuses ports."""
        self._read = self._log.stat().st_size

    def endings(self, addresses: Iterable[str]) -> dict[str, Ending]:
        """Return how the connections from these addresses ended, for those that the node has logged."""
        with self._log.open("rb") as log:
            log.seek(self._read)
            text = log.read().decode(errors="replace")
        logged = {match[2]: Ending(match[1], match[3]) for match in _ENDED.finditer(text)}
        return {address: logged[address] for address in addresses if address in logged}

    async def all_ended(self, addresses: Collection[str]) -> Counter[str]:
        """Wait until these connections have ended; return how often each reason occurred."""
        await until(lambda: len(self.endings(addresses)) == len(addresses), "all have ended")
        return Counter(ending.reason for ending in self.endings(addresses).values())

    def metric(self, name: str) -> int:
        """Return the value of one of the network's metrics, by its name with labels."""
        found = re.search(rf"^svc_network_{re.escape(name)} (\S+)$", self.node.metrics(), re.M)
        assert found, f"no {name}"
        return int(float(found[1]))

    async def shows(self, strangers: Sequence[Stranger], *, still: bool = True) -> None:
        """Wait until info.peers lists all of these peers, or, if not `still`, none of them."""
        expected = {str(stranger.node_id) for stranger in strangers}

        def as_expected() -> bool:
            shown = expected & self.node.peers()
            return shown == (expected if still else set())

        await until(as_expected, "info.peers has them" if still else "info.peers has none of them")

    @property
    def _log(self) -> Path:
        return self.node.directory / "web.log"

    def _memory_at_rest(self) -> int:
        """Return the node's memory after it has answered every kind of request that the tests send."""
        wait_for(lambda: "svc_network_known_nodes" in self.node.metrics(), "it reports its network")
        for _ in range(20):
            ask(self.node)
        return resident_bytes(self.node.pid)


def ask(node: NetworkNode) -> None:
    """Send the requests that the node must answer during a flood, each over a new connection.

    Raises:
        RpcUnreachable: The node did not answer in time.
        RpcFault: The node answered with an error.
    """
    with RpcClient(node.port, timeout=RPC_SECONDS) as client:
        client.call("eth_blockNumber")
    with PlatformClient(node.port, timeout=RPC_SECONDS) as client:
        client.call("info.peers")


class Witness(AbstractContextManager["Witness"]):
    """Sends RPC requests to a node continuously from a thread and tracks its memory."""

    def __init__(self, node: NetworkNode) -> None:
        self.rounds = 0
        """Number of completed rounds of requests."""
        self.most = 0
        """The highest memory use of the node so far, in bytes."""
        self._node = node
        self._over = Event()
        self._thread = ThreadPoolExecutor(1)

    @override
    def __enter__(self) -> "Witness":
        self._watching = self._thread.submit(self._watch)
        return self

    @override
    def __exit__(self, *_exception: object) -> None:
        self._over.set()
        self._thread.shutdown()
        self._watching.result()

    async def looks(self) -> None:
        """Wait for answers to requests sent after this call, so that they show the effect of the current flood."""
        enough = self.rounds + 2
        await until(lambda: self._watching.done() or self.rounds >= enough, "RPC answers")
        if self._watching.done():
            self._watching.result()

    def _watch(self) -> None:
        while not self._over.is_set():
            ask(self._node)
            self.most = max(self.most, resident_bytes(self._node.pid))
            self.rounds += 1
            self._over.wait(PAUSE)


async def until(holds: Callable[[], Any], what: str) -> None:
    """Wait until a condition that queries the node is true.

    Raises:
        TimeoutError: The condition did not become true in time.
    """
    end = time.monotonic() + PATIENCE
    while not await asyncio.to_thread(holds):
        if time.monotonic() > end:
            raise TimeoutError(what)
        await asyncio.sleep(PAUSE)


def _keys_of(data: Path) -> Node:
    """Read the keys of a validator that is not running."""
    files = IdentityFiles.below(data)
    pems = KeyAndCertificate(files.key.read_bytes(), files.certificate.read_bytes())
    return Node(pems, files.signer.read_bytes())
