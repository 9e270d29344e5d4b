"""Several real nodes of one local network; each reaches the others through a relay."""

import http.client
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import Any

from nodeproject.processes.local_network import Files, begin, make_keys
from primitives.ids import NodeID
from tests.e2e.platform_client import PlatformClient
from tests.servers.node import RunningNode
from tests.servers.ports import free_port
from tests.servers.postgresql import PostgresqlServer
from tests.servers.process import ServerError
from tests.servers.relay import Relay, Wires


class NotReached(ServerError):
    """The condition that a test waited for did not become true."""


class NetworkNode(RunningNode):
    """A node with an identity created before its start, and its own loopback IP address."""

    def __init__(self, home: Path, *, ip: str, node_id: NodeID, **options: Any) -> None:
        super().__init__(home, **options)
        self.ip = ip
        self.node_id = node_id

    def ask(self, method: str, **params: Any) -> Any:
        """Call a method with named params and return its result."""
        with PlatformClient(self.port) as client:
            return client.call(method, **params)

    def get(self, path: str) -> tuple[int, Any]:
        """Request a path and return the status and the decoded JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, json.load(answer)

    def metrics(self) -> str:
        """Return the metrics page for Prometheus."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with closing(connection):
            connection.request("GET", "/ext/metrics")
            return connection.getresponse().read().decode()

    def heads(self) -> tuple[str, str, str]:
        """Return the last blocks of the P-Chain, the X-Chain and the C-Chain."""
        on_p, on_x = (self._last_block(service) for service in ("platform", "avm"))
        return on_p, on_x, self.rpc("eth_getBlockByNumber", "latest", False)["hash"]

    def _last_block(self, service: str) -> str:
        height = self.ask(f"{service}.getHeight")["height"]
        found = self.ask(f"{service}.getBlockByHeight", height=height, encoding="hexnc")
        block: str = found["block"]
        return block

    def peers(self) -> set[str]:
        """Return the node IDs of its connected peers."""
        return {peer["nodeID"] for peer in self.ask("info.peers")["peers"]}

    def checks(self) -> dict[str, Any]:
        """Return the node's health checks."""
        _, health = self.get("/ext/health")
        return dict(health["checks"])

    def measured(self, check: str) -> dict[str, Any]:
        """Return the measurements of the last run of a health check; nothing if the run exceeded its time limit."""
        return dict(self.checks()[check].get("message") or {})


class LocalNetwork(AbstractContextManager["LocalNetwork"]):
    """Nodes that validate one network. The first builds the blocks, unless the validators vote."""

    def __init__(
        self,
        directory: Path,
        count: int,
        *,
        votes: bool = False,
        env: Mapping[str, str] | None = None,
        production: Mapping[int, PostgresqlServer] | None = None,
    ) -> None:
        """Create the nodes without starting them; see `start`.

        Args:
            directory: Directory for their data.
            count: Number of validators.
            votes: Whether the validators vote; otherwise the first builds all blocks.
            env: Additional settings.
            production: The PostgreSQL servers of the nodes in the production profile, by node number.
        """
        self.wires = Wires()
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._votes = votes
        self._env = dict(env or {})
        self._production = dict(production or {})
        self._end = ExitStack()
        self._relays: list[Relay] = []
        homes = [directory / f"node{place}" for place in range(count)]
        self.node_ids = begin(directory, [home / "data" for home in homes], now=int(time.time()))
        self._ports = [free_port() for _ in homes]
        for place, port in enumerate(self._ports):
            self._relay(place, port)
        self.nodes = [
            self._made(home, place, node_id)
            for place, (home, node_id) in enumerate(zip(homes, self.node_ids, strict=True))
        ]

    def start(self, nodes: Sequence[NetworkNode] | None = None) -> None:
        """Start nodes in parallel, and wait until they answer."""
        started = self.nodes if nodes is None else nodes
        for node in started:
            node.start(wait=False)
        for node in started:
            node.wait_until_answering()

    def joiner(self) -> NetworkNode:
        """Return a node that knows only the first node's address; it is not started."""
        place = len(self._relays)
        home = self._directory / f"joiner{place}"
        (node_id,) = make_keys([home / "data"], now=int(time.time()))
        port = free_port()
        relay = self._relay(place, port)
        env = {
            "NODE_STAKING_HOST": _ip(place),
            "NODE_STAKING_PORT": str(port),
            "NODE_PUBLIC_IP": relay.address,
            "NODE_BOOTSTRAP": self._relays[0].address,
            "NODE_CONSENSUS": "snowman" if self._votes else "sole",
            "NODE_HEALTH_INTERVAL": "1",
            **self._env,
        }
        return self._kept(NetworkNode(home, ip=_ip(place), node_id=node_id, env=env))

    def slow(self, node: NetworkNode, seconds: float) -> None:
        """Delay everything that a node sends and receives by some seconds."""
        self.wires.slow(node.ip, seconds)

    def cut(self, node: NetworkNode) -> None:
        """Disconnect a node from all others."""
        self.wires.cut(node.ip)

    def mend(self, node: NetworkNode) -> None:
        """Reconnect a node to the others."""
        self.wires.mend(node.ip)

    def __exit__(self, *_exception: object) -> None:
        self._end.close()

    def _made(self, home: Path, place: int, node_id: NodeID) -> NetworkNode:
        files = Files.below(self._directory)
        others = [relay.address for other, relay in enumerate(self._relays) if other != place]
        follows = place > 0 or self._votes
        env = {
            "NODE_STAKING_HOST": _ip(place),
            "NODE_STAKING_PORT": str(self._ports[place]),
            "NODE_PUBLIC_IP": self._relays[place].address,
            "NODE_GENESIS": str(files.cchain),
            "NODE_PLATFORM_GENESIS": str(files.platform),
            "NODE_CONSENSUS": "snowman" if self._votes else "sole",
            "NODE_PRODUCER": "" if self._votes else str(self.node_ids[0]),
            "NODE_BOOTSTRAP": ",".join(others) if follows else "",
            "NODE_HEALTH_INTERVAL": "1",
            **self._env,
        }
        server = self._production.get(place)
        return self._kept(
            NetworkNode(home, ip=_ip(place), node_id=node_id, env=env, postgresql=server)
        )

    def _relay(self, place: int, port: int) -> Relay:
        relay = Relay(_ip(place), port, self.wires)
        self._end.callback(relay.close)
        self._relays.append(relay)
        return relay

    def _kept(self, node: NetworkNode) -> NetworkNode:
        """Stop a node together with the network."""
        return self._end.enter_context(node)


def wait_for(
    reached: Callable[[], bool], what: str, seconds: float = 120.0, *, longest_pause: float = 0.5
) -> None:
    """Wait until a condition is true.

    Args:
        reached: Returns whether the condition is true.
        what: Description of the condition for the error message.
        seconds: Time limit.
        longest_pause: Most seconds between two checks; choose a small value for a short-lived condition.

    Raises:
        NotReached: The condition did not become true within the time limit.
    """
    until, pause = time.monotonic() + seconds, min(0.05, longest_pause)
    while not reached():
        if time.monotonic() > until:
            raise NotReached(what)
        time.sleep(pause)
        # Each check takes time from the nodes under test.
        pause = min(pause * 1.5, longest_pause)


def agreed(nodes: Sequence[NetworkNode]) -> bool:
    """Return whether all nodes have the same head on each chain."""
    return len({node.heads() for node in nodes}) == 1


def _ip(place: int) -> str:
    return f"127.0.0.{place + 2}"
