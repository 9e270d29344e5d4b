"""Addresses that are dialled, again and again while nobody there is connected (p2p.md 5.1, 7).

Which validators have which addresses is known by `introductions`; a connection's life after it was
dialled is its own.
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
from network_app.peers.errors import SelfConnection
from network_app.peers.throttle import TokenBucket
from network_app.ports import DialFailure
from primitives.ids import NodeID

LONGEST_SHARE = 0.75
"""At the limit the wait is random from this share of it up: not all come back at one time."""


class BackOff:
    """Waits that grow with each failure up to a limit, each by a random factor from 1 to 2."""

    def __init__(self, first: float, longest: float, chance: random.Random | None = None) -> None:
        self._first = first
        self._longest = longest
        self._chance = chance or random.Random()  # noqa: S311 spreads load, guards nothing
        self._next = first

    def reset(self) -> None:
        """Begin anew, after a success."""
        self._next = self._first

    def wait(self) -> float:
        """Return the seconds to wait after one more failure."""
        seconds = self._next
        self._next *= 1.0 + self._chance.random()
        if self._next > self._longest:
            self._next = self._longest * self._chance.uniform(LONGEST_SHARE, 1.0)
        return min(seconds, self._longest)


class Address(NamedTuple):
    """Where somebody listens."""

    host: str
    port: int

    @property
    def text(self) -> str:
        """host:port, an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Lived(NamedTuple):
    """What became of a connection, or of the attempt at one."""

    reason: Exception
    finished: bool = False
    """Whether the handshake was."""


@dataclass(slots=True, eq=False)
class Target:
    """An address that is dialled."""

    address: Address
    """The latest that is known."""
    node_id: NodeID | None
    """Who listens there; of a tracked address this is known once TLS was up."""
    task: asyncio.Task[None] | None = None
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a new address is worth a dial at once."""
    moved_at: float = -math.inf
    """When that was, last."""


class Dialer:
    """A task for each address.

    `dial` tells who is there as soon as TLS is up, and returns when the connection is over;
    `absent` waits until a node has no connection and says whether it had one.
    """

    def __init__(
        self,
        config: NetworkConfig,
        dial: Callable[[Address, Callable[[NodeID], None]], Awaitable[Lived]],
        absent: Callable[[NodeID], Awaitable[bool]],
    ) -> None:
        self._config = config
        self._dial = dial
        self._absent = absent
        self._turns = TokenBucket(
            config.dials_per_second, config.dials_per_second, time.monotonic()
        )
        self._failures = DialFailures()
        self._tracked: list[Target] = []
        self._validators: dict[NodeID, Target] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def track(self, addresses: Sequence[Address]) -> None:
        """Dial addresses for as long as the network runs, whoever is there."""
        for address in addresses:
            self._tracked.append(self._begin(Target(address, None)))

    @property
    def tracked(self) -> list[NodeID]:
        """Nodes that were found at the tracked addresses, the latest at each."""
        return [target.node_id for target in self._tracked if target.node_id is not None]

    @property
    def found(self) -> dict[tuple[str, int], NodeID]:
        """The tracked addresses at which somebody was found, and the latest there."""
        return {one.address: one.node_id for one in self._tracked if one.node_id is not None}

    def failures(self, connected: Collection[NodeID]) -> list[DialFailure]:
        """Return why tracked addresses failed at the last dial, without those whose node is connected."""
        latest = self._failures.latest()
        return [
            latest[target.address.text]
            for target in self._tracked
            if target.address.text in latest and target.node_id not in connected
        ]

    def is_tracked(self, node_id: NodeID) -> bool:
        """Say whether a node was found at a tracked address."""
        return any(target.node_id == node_id for target in self._tracked)

    def want(self, addresses: Mapping[NodeID, Address]) -> None:
        """Dial these nodes at these addresses, and no others but the tracked ones.

        A node that moved is dialled at once, but not again and again: who signs ever new addresses
        waits between two dials like anybody else.
        """
        for node_id in self._validators.keys() - addresses.keys():
            _end(self._validators.pop(node_id))
        for node_id, address in addresses.items():
            known = self._validators.get(node_id)
            if known is None:
                self._validators[node_id] = self._begin(Target(address, node_id))
            elif known.address != address:
                self._move(known, address, time.monotonic())

    def _move(self, target: Target, address: Address, now: float) -> None:
        target.address = address
        if now - target.moved_at >= self._config.longest_retry:
            target.moved_at = now
            target.moved.set()

    def __len__(self) -> int:
        return len(self._tracked) + len(self._validators)

    async def stop(self) -> None:
        """Dial nobody any more."""
        self._tracked.clear()
        self._validators.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, target: Target) -> Target:
        target.task = asyncio.get_running_loop().create_task(self._keep(target))
        self._tasks.add(target.task)
        target.task.add_done_callback(self._tasks.discard)
        return target

    async def _keep(self, target: Target) -> None:
        """Dial whenever nobody is connected from there, after longer and longer waits."""
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
            if isinstance(lived.reason, SelfConnection):
                return
            if lived.finished:
                back_off.reset()
            await self._pause(target, back_off.wait())

    @staticmethod
    async def _pause(target: Target, seconds: float) -> None:
        """Wait until the next dial is due, or the node has moved."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await target.moved.wait()
        target.moved.clear()

    def _met(self, target: Target, node_id: NodeID) -> None:
        """Remember who is at a tracked address; it may be somebody else than before."""
        if target in self._tracked:
            target.node_id = node_id

    async def _turn(self) -> None:
        seconds = self._turns.take(1, time.monotonic())
        if seconds:
            await asyncio.sleep(seconds)


def _end(target: Target) -> None:
    if target.task is not None:
        target.task.cancel()
