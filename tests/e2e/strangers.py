"""Unknown peers that connect to a running node: hundreds of connections without TLS, and large groups of peers.

The messages that a peer can send are in `tests.builders.peers`.
"""

import asyncio
import itertools
import ssl
import time
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from ipaddress import IPv4Address
from typing import Any

from network_app.wire import framing
from network_app.wire.p2p_pb2 import Message, Ping
from tests.builders.nodes import Node, node
from tests.builders.peers import Stranger, stranger
from tests.e2e.floods import PATIENCE, PAUSE, Ending, Flooded

NOWHERE = IPv4Address("127.1.0.1")
"""Addresses from this one on do not answer at port 1; the node dials addresses that are gossiped."""
SILENCE = 30
"""Seconds within which a complete message must arrive."""

_NUMBERS = itertools.count(1000)


# --- without TLS ---


def client_hello() -> bytes:
    """Return the start of a TLS handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname = False
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing).do_handshake()
    return outgoing.read()


class Caller:
    """A connection that never completes a TLS handshake."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        host, port = writer.get_extra_info("sockname")[:2]
        self.address = f"{host}:{port}"
        self.heard = 0
        """Number of received bytes."""
        self._reader = reader
        self._writer = writer
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def connect(cls, address: tuple[str, int], said: bytes) -> "Caller":
        """Connect and send some bytes."""
        reader, writer = await asyncio.open_connection(*address)
        writer.write(said)
        return cls(reader, writer)

    @property
    def is_over(self) -> bool:
        """Whether the node has closed the connection."""
        return self._listening.done()

    async def leave(self) -> None:
        """Close the connection from this side."""
        self._writer.transport.abort()
        await self._listening

    async def _listen(self) -> None:
        try:
            while heard := await self._reader.read(65536):
                self.heard += len(heard)
        except ConnectionError:
            return  # the node reset the connection


class Calls:
    """Connections that all send the same bytes. They come in batches, and the node may refuse some immediately."""

    def __init__(self, flooded: Flooded, said: bytes) -> None:
        self._flooded = flooded
        self._said = said
        self.made: list[Caller] = []

    async def __aenter__(self) -> "Calls":
        return self

    async def __aexit__(self, *exception: object) -> None:
        for item in self.made:
            await item.leave()
        # When the node has logged the end of one more peer, it has logged the ends of all these connections.
        if not any(exception):
            async with strangers(self._flooded, crowd(1), finished=False):
                pass

    @property
    def staying(self) -> int:
        """Number of connections that the node has not closed."""
        return sum(not item.is_over for item in self.made)

    async def go_on(self, until_ended: int, why: str = "") -> None:
        """Connect until the node has accepted and closed `until_ended` connections for a reason starting with `why`.

        Raises:
            TimeoutError: It closed fewer.
        """
        async with asyncio.timeout(PATIENCE):
            while (
                sum(ending.reason.startswith(why) for ending in self.endings().values())
                < until_ended
            ):
                connecting = [Caller.connect(self._flooded.address, self._said) for _ in range(50)]
                self.made += await asyncio.gather(*connecting)
                await asyncio.sleep(PAUSE)

    def endings(self) -> dict[str, Ending]:
        """Return how the accepted connections ended."""
        return self._flooded.endings(item.address for item in self.made)


# --- with TLS ---


async def arrive(stay: AsyncExitStack, flooded: Flooded, who: Node) -> Stranger:
    """Connect, with retries if too many connected within a second, until the node has sent its handshake."""
    async with asyncio.timeout(PATIENCE):
        while True:
            attempt = AsyncExitStack()
            try:
                one = await attempt.enter_async_context(stranger(flooded.address, who))
                await one.receive_kind("handshake")
            except (OSError, IncompleteReadError):
                await attempt.aclose()
                await asyncio.sleep(PAUSE)
            else:
                stay.push_async_exit(attempt)
                return one


@asynccontextmanager
async def strangers(
    flooded: Flooded, who: Sequence[Node], *, finished: bool = True, signed_at: int | None = None
) -> AsyncIterator[list[Stranger]]:
    """Connect nodes that complete TLS and, if `finished`, the handshake too, so that the node lists them as peers.

    `signed_at` is the time at which they signed their own addresses (Unix seconds), by default now.

    On exit, wait until the node has logged the end of each connection, so that no later connection from the same
    port is confused with one of them.
    """
    async with AsyncExitStack() as stay:
        arrived = [await arrive(stay, flooded, item) for item in who]
        if finished:
            for other in arrived:
                await other.finish_handshake(
                    **address_of(other.node, signed_at or int(time.time()))
                )
            await flooded.shows(arrived)
        yield arrived
    await flooded.all_ended(addresses(arrived))


def crowd(size: int) -> list[Node]:
    """Return new nodes that are not validators."""
    return [node(next(_NUMBERS)) for _ in range(size)]


def address_of(who: Node, signed_at: int) -> dict[str, Any]:
    """Return the handshake fields with a node's own address, at which no node listens."""
    claim = who.claim(NOWHERE, 1, signed_at)
    return {
        "ip_addr": claim.ip.packed,
        "ip_port": claim.port,
        "ip_signing_time": claim.timestamp,
        "ip_node_id_sig": claim.tls_signature,
        "ip_bls_sig": claim.bls_signature,
    }


async def answered(*asking: Stranger) -> None:
    """Wait until the node has processed all messages that these peers have sent."""
    async with asyncio.timeout(PATIENCE):
        for task in asking:
            task.send(Message(ping=Ping()))
        for item in asking:
            await item.receive_kind("pong")


def addresses(many: Sequence[Stranger]) -> list[str]:
    """Return the local addresses of these peers."""
    return [item.address for item in many]


@asynccontextmanager
async def pouring(many: Sequence[Stranger], poured: bytes) -> AsyncIterator[None]:
    """Let peers send the same bytes endlessly without reading; the node must not disconnect them."""

    async def pour(one: Stranger) -> None:
        while True:
            one.writer.write(poured)
            await one.writer.drain()

    tasks = [asyncio.create_task(pour(item)) for item in many]
    try:
        yield
        assert not any(task.done() for task in tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@asynccontextmanager
async def frames_that_never_end(flooded: Flooded) -> AsyncIterator[None]:
    """Peers with unfinished frames: two of the largest size, as many as fit, and many too small for the common limit.

    Half of them continue byte by byte; in the end the node disconnects all of them.
    """
    sizes = [framing.MAX_FRAME] * 2 + [60 * 1024] * 30
    async with strangers(flooded, crowd(len(sizes))) as arrived:
        for one, size in zip(arrived, sizes, strict=True):
            one.writer.write(size.to_bytes(4, "big") + bytes(size - 1000))

        async def trickle() -> None:
            while True:
                await asyncio.sleep(0.5)
                for item in arrived[::2]:
                    item.writer.write(b"\0")

        trickling = asyncio.create_task(trickle())
        try:
            yield
            reasons = await flooded.all_ended(addresses(arrived))
            assert reasons == {f"no message in {SILENCE} s": len(arrived)}
        finally:
            trickling.cancel()
