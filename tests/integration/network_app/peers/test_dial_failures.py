"""Failed connections to bootstrappers over real sockets, and the reason that the node reports."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from network_app.ports import DialFailure
from tests.builders.nodes import node
from tests.builders.peers import LOOPBACK, Running, dial, eventually, load_identity, running
from tests.servers.ports import free_port

pytestmark = pytest.mark.sqlite_only

PROTOCOL_VERSION = b"\x15\x03\x01\x00\x02\x02\x46"
"""The alert of a server that supports at most TLS 1.2."""
BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"


@asynccontextmanager
async def server(
    response: bytes, context: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[str, int]]:
    """Listen with TLS or without, answer the first bytes of each connection, and close it."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(response)
        writer.close()

    listening = await asyncio.start_server(answer, LOOPBACK, 0, ssl=context)
    try:
        yield listening.sockets[0].getsockname()[:2]
    finally:
        listening.close()


async def failure_of(one: Running) -> DialFailure:
    await eventually(one.network.dial_failures)
    (failure,) = one.network.dial_failures()
    return failure


@pytest.mark.parametrize("offset", [90, -90])
async def test_clocks_that_are_too_far_apart(offset: int, caplog: pytest.LogCaptureFixture) -> None:
    async with running(node(0)) as one, running(node(1)) as two:
        assert two.network._running is not None
        two.network._running.introductions._wall = lambda: time.time() + offset
        dial(two, one)

        failure = await failure_of(two)

        assert failure.reason == "clock"
        assert failure.clock_offset is not None
        assert abs(failure.clock_offset - offset) <= 1
        assert failure.address == f"{LOOPBACK}:{one.network.port}"
        await eventually(lambda: two.ended["ClocksDiffer"] > 2)
        assert caplog.messages.count(f"cannot connect to {failure}") == 1


async def test_another_network() -> None:
    async with (
        running(node(0)) as one,
        running(node(1), tracked=(one.address,), network_id=1) as two,
    ):
        failure = await failure_of(two)

        assert failure.reason == "network_id"
        assert "on network 12345, this node is on network 1:" in failure.message


async def test_the_port_of_an_http_server() -> None:
    async with server(BAD_REQUEST) as address, running(node(0), tracked=(address,)) as one:
        failure = await failure_of(one)

    assert failure.reason == "wrong_port"
    assert failure.message.startswith(
        "an HTTP server answers: NODE_BOOTSTRAP needs the staking port"
    )


async def test_the_port_of_an_https_server() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_identity(context, node(5))
    async with server(BAD_REQUEST, context) as address, running(node(0), tracked=(address,)) as one:
        assert (await failure_of(one)).reason == "wrong_port"


@pytest.mark.parametrize("response", [PROTOCOL_VERSION, b"SSH-2.0-OpenSSH\r\n"])
async def test_a_server_with_an_older_tls_or_another_protocol(response: bytes) -> None:
    async with server(response) as address, running(node(0), tracked=(address,)) as one:
        assert (await failure_of(one)).reason == "tls"


async def test_dial_failure_is_reported_until_connected() -> None:
    port = free_port()
    async with running(node(0), tracked=((LOOPBACK, port),)) as one:
        assert (await failure_of(one)).reason == "unreachable"

        async with running(node(1), port=port) as other:
            await eventually(lambda: one.knows(other))
            assert one.network.dial_failures() == []
