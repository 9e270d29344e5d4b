"""A running node that strangers flood, and what proves that they did: its log, its peers, its metrics.

The strangers themselves are in `strangers`; what they do is in the tests.
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
"""In which RPC must answer meanwhile: before the node would give up those who say nothing (15 s). How fast
it is otherwise is measured in benchmarks."""
PATIENCE = 120.0
"""Seconds until a test gives up waiting."""
PAUSE = 0.05

_ENDED = re.compile(r"network_app\.peers\.lives  (\S+) at (\S+): (.*)")


class Ending(NamedTuple):
    """What a node logs of a connection that is over."""

    node_id: str
    """Of the other side; "None" if its TLS never was up."""
    reason: str


class Flooded:
    """The only node that runs of a network of five validators, and the keys of the others."""

    def __init__(self, network: LocalNetwork) -> None:
        self.node: NetworkNode = network.nodes[0]
        self.others = [_keys_of(one.directory / "data") for one in network.nodes[1:]]
        network.start([self.node])
        self.before = self._memory_at_rest()
        self._read = 0

    @property
    def address(self) -> tuple[str, int]:
        """Where peers connect."""
        return self.node.ip, self.node.staking_port

    def forget(self) -> None:
        """Leave out of `endings` what was logged until now: ports come again."""
        self._read = self._log.stat().st_size

    def endings(self, addresses: Iterable[str]) -> dict[str, Ending]:
        """Return how the connections of these addresses ended, as far as the node has logged it."""
        with self._log.open("rb") as log:
            log.seek(self._read)
            text = log.read().decode(errors="replace")
        logged = {one[2]: Ending(one[1], one[3]) for one in _ENDED.finditer(text)}
        return {address: logged[address] for address in addresses if address in logged}

    async def all_ended(self, addresses: Collection[str]) -> Counter[str]:
        """Wait until these connections have ended; return the reasons, with how often."""
        await until(lambda: len(self.endings(addresses)) == len(addresses), "all have ended")
        return Counter(ending.reason for ending in self.endings(addresses).values())

    def metric(self, name: str) -> int:
        """Return one of the network's figures, by its name with its labels."""
        found = re.search(rf"^svc_network_{re.escape(name)} (\S+)$", self.node.metrics(), re.M)
        assert found, f"no {name}"
        return int(float(found[1]))

    async def shows(self, strangers: Sequence[Stranger], *, still: bool = True) -> None:
        """Wait until info.peers has all of these, or none of them."""
        expected = {str(one.node_id) for one in strangers}

        def as_expected() -> bool:
            shown = expected & self.node.peers()
            return shown == (expected if still else set())

        await until(as_expected, "info.peers has them" if still else "info.peers has none of them")

    @property
    def _log(self) -> Path:
        return self.node.directory / "web.log"

    def _memory_at_rest(self) -> int:
        """Return what the node holds once it has answered all that tests ask meanwhile."""
        wait_for(lambda: "svc_network_known_nodes" in self.node.metrics(), "it reports its network")
        for _ in range(20):
            ask(self.node)
        return resident_bytes(self.node.pid)


def ask(node: NetworkNode) -> None:
    """Ask over new connections what must be answered meanwhile.

    Raises:
        RpcUnreachable: There was no answer in time.
        RpcFault: It was an error.
    """
    with RpcClient(node.port, timeout=RPC_SECONDS) as client:
        client.call("eth_blockNumber")
    with PlatformClient(node.port, timeout=RPC_SECONDS) as client:
        client.call("info.peers")


class Witness(AbstractContextManager["Witness"]):
    """Asks a node over RPC again and again, in a thread, and looks at its memory."""

    def __init__(self, node: NetworkNode) -> None:
        self.rounds = 0
        """How often everything was answered."""
        self.most = 0
        """Bytes that the node held at its worst."""
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
        """Wait for answers to questions that are not asked yet: of the flood as it is now."""
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
    """Wait until something holds that takes a look at the node.

    Raises:
        TimeoutError: It did not come to be.
    """
    end = time.monotonic() + PATIENCE
    while not await asyncio.to_thread(holds):
        if time.monotonic() > end:
            raise TimeoutError(what)
        await asyncio.sleep(PAUSE)


def _keys_of(data: Path) -> Node:
    """Read who a validator is that does not run."""
    files = IdentityFiles.below(data)
    pems = KeyAndCertificate(files.key.read_bytes(), files.certificate.read_bytes())
    return Node(pems, files.signer.read_bytes())
