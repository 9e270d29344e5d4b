"""Addresses that are dialled repeatedly while no peer is connected there (p2p.md 5.1, 7).

`introductions` knows the validators' addresses; an established connection is handled elsewhere.
"""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from network_app.config import NetworkConfig
from network_app.peers.dial_failures import DialFailures
from network_app.peers.errors import PeerError, PeerReason
from network_app.peers.throttle import TokenBucket
from network_app.ports import DialFailure
from primitives.ids import NodeID

LONGEST_SHARE = 0.75
"""At the limit, the lowest share of it that a random wait lasts, so that not all nodes dial at the same time."""


class BackOff:
    """Waits that grow with each failure up to a limit, each multiplied by a random factor from 1 to 2."""

    def __init__(self, first: float, longest: float, chance: random.Random | None = None) -> None:
        self._first = first
        self._longest = longest
        self._chance = chance or random.Random()  # noqa: S311 spreads load, not a security function
        self._next = first

    def reset(self) -> None:
        """Restart with the shortest wait, after a success."""
        self._next = self._first

    def wait(self) -> float:
        """Return the seconds to wait after another failure."""
        seconds = self._next
        self._next *= 1.0 + self._chance.random()
        if self._next > self._longest:
            self._next = self._longest * self._chance.uniform(LONGEST_SHARE, 1.0)
        return min(seconds, self._longest)


class DialAddress(NamedTuple):
    """A host and port on which a node listens."""

    host: str
    port: int

    @property
    def text(self) -> str:
        """host:port, an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class ConnectionLifetime(NamedTuple):
    """The result of a connection or of a connection attempt."""

    reason: Exception
    finished: bool = False
    """Whether the handshake was finished."""


@dataclass(slots=True, eq=False)
class DialTarget:
    """An address that is dialled."""

    address: DialAddress
    """The latest known address."""
    node_id: NodeID | None
    """The node that listens there. For a tracked address it is known after the first TLS handshake."""
    task: asyncio.Task[None] | None = None
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a new address should be dialled immediately."""
    moved_at: float = -math.inf
    """Time of the last such move."""


class Dialer:
    """Runs a task for each address.

    `dial` calls its callback with the node ID after the TLS handshake, and returns when the connection
    has ended. `absent` waits until a node has no connection and returns whether it had one.
    """

    def __init__(
        self,
        config: NetworkConfig,
        dial: Callable[[DialAddress, Callable[[NodeID], None]], Awaitable[ConnectionLifetime]],
        absent: Callable[[NodeID], Awaitable[bool]],
    ) -> None:
        self._config = config
        self._dial = dial
        self._absent = absent
        self._turns = TokenBucket(
            config.dials_per_second, config.dials_per_second, time.monotonic()
        )
        self._failures = DialFailures()
        self._tracked: list[DialTarget] = []
        self._validators: dict[NodeID, DialTarget] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def track(self, addresses: Sequence[DialAddress]) -> None:
        """Dial addresses for as long as the network runs, whichever nodes listen there."""
        for address in addresses:
            self._tracked.append(self._begin(DialTarget(address, None)))

    @property
    def tracked(self) -> list[NodeID]:
        """Return the node last found at each tracked address."""
        return [target.node_id for target in self._tracked if target.node_id is not None]

    @property
    def found(self) -> dict[tuple[str, int], NodeID]:
        """Return the node last found at each tracked address where a node was found."""
        return {item.address: item.node_id for item in self._tracked if item.node_id is not None}

    def failures(self, connected: Collection[NodeID]) -> list[DialFailure]:
        """Return why tracked addresses failed at the last dial, except for nodes that are connected."""
        latest = self._failures.latest()
        return [
            latest[target.address.text]
            for target in self._tracked
            if target.address.text in latest and target.node_id not in connected
        ]

    def is_tracked(self, node_id: NodeID) -> bool:
        """Return whether a node was found at a tracked address."""
        return any(target.node_id == node_id for target in self._tracked)

    def want(self, addresses: Mapping[NodeID, DialAddress]) -> None:
        """Dial these nodes at these addresses, and no others except the tracked ones.

        A node with a new address is dialled immediately, but only once in a while: a node that keeps
        signing new addresses waits between two dials like any other.
        """
        for node_id in self._validators.keys() - addresses.keys():
            _end(self._validators.pop(node_id))
        for node_id, address in addresses.items():
            known = self._validators.get(node_id)
            if known is None:
                self._validators[node_id] = self._begin(DialTarget(address, node_id))
            elif known.address != address:
                self._move(known, address, time.monotonic())

    def _move(self, target: DialTarget, address: DialAddress, now: float) -> None:
        target.address = address
        if now - target.moved_at >= self._config.longest_retry:
            target.moved_at = now
            target.moved.set()

    def __len__(self) -> int:
        return len(self._tracked) + len(self._validators)

    async def stop(self) -> None:
        """Stop all dialling."""
        self._tracked.clear()
        self._validators.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, target: DialTarget) -> DialTarget:
        target.task = asyncio.get_running_loop().create_task(self._keep(target))
        self._tasks.add(target.task)
        target.task.add_done_callback(self._tasks.discard)
        return target

    async def _keep(self, target: DialTarget) -> None:
        """Dial whenever the node there is not connected, after increasing waits."""
        back_off = BackOff(self._config.first_retry, self._config.longest_retry)
        while True:
            if target.node_id is not None and await self._absent(target.node_id):
                back_off.reset()
                await self._pause(target, back_off.wait())
                continue
            await self._turn()
            lived = await self._dial(target.address, partial(self._met, target))
            if target in self._tracked:
                self._failures.ended(target.address.text, lived.reason, finished=lived.finished)
            if (
                isinstance(lived.reason, PeerError)
                and lived.reason.reason is PeerReason.SELF_CONNECTION
            ):
                return
            if lived.finished:
                back_off.reset()
            await self._pause(target, back_off.wait())

    @staticmethod
    async def _pause(target: DialTarget, seconds: float) -> None:
        """Wait until the next dial is due or the node has a new address."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await target.moved.wait()
        target.moved.clear()

    def _met(self, target: DialTarget, node_id: NodeID) -> None:
        """Store the node ID found at a tracked address; it may differ from the previous one."""
        if target in self._tracked:
            target.node_id = node_id

    async def _turn(self) -> None:
        seconds = self._turns.take(1, time.monotonic())
        if seconds:
            await asyncio.sleep(seconds)


def _end(target: DialTarget) -> None:
    if target.task is not None:
        target.task.cancel()
