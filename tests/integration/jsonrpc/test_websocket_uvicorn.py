"""The WebSocket endpoint under a real uvicorn on loopback: slow readers, sizes, refusals."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator

import msgspec
import pytest
import uvicorn
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from jsonrpc.dispatch.gate import GateConfig
from jsonrpc.websocket.outbound import OutboundLimits, notify
from jsonrpc.websocket.session import SocketLimits
from tests.integration.jsonrpc.messages import NUMBER, NUMBER_ANSWER, request, until
from tests.integration.patience import SECONDS

pytestmark = pytest.mark.sqlite_only


@pytest.fixture
def served(application):
    """Return a function that serves an application by uvicorn on a free port, in a thread of its own."""
    running = []

    def serve(app, *, deflate: bool = False) -> str:
        # Clients that connect before the server runs wait in the backlog.
        listener = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(
            app,
            ws="websockets-sansio",
            loop="uvloop",
            lifespan="off",
            log_level="critical",
            ws_max_size=32 * 1024 * 1024,
            ws_per_message_deflate=deflate,
            proxy_headers=False,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        running.append((server, thread, listener))
        return f"ws://127.0.0.1:{listener.getsockname()[1]}/ws"

    yield serve
    for server, thread, listener in running:
        server.should_exit = True
        thread.join(timeout=SECONDS)
        listener.close()
        assert not thread.is_alive(), "a socket held up the server's end"


async def open_socket(url: str, **options):
    return await connect(url, open_timeout=SECONDS, **options)


async def open_slow_socket(url: str):
    """Connect a client with a small receive buffer that does not read."""
    narrow = socket.socket()
    narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    narrow.connect(("127.0.0.1", int(url.rpartition(":")[2].partition("/")[0])))
    narrow.setblocking(False)
    return await open_socket(url, sock=narrow, max_queue=1)


async def until_closed(ws) -> AsyncIterator[str]:
    while True:
        try:
            yield await ws.recv()
        except ConnectionClosed:
            return


async def test_stalled_reader_is_disconnected_and_delays_no_other(
    application, registry, hub, served
) -> None:
    loops = []
    registry.add("loop", lambda: loops.append(asyncio.get_running_loop()), hot=True)
    strict, patient = (
        application(limits=SocketLimits(outbound=OutboundLimits(messages=50, seconds=seconds)))
        for seconds in (0.3, SECONDS)
    )

    async def by_path(scope, receive, send):
        await (strict if scope["path"] == "/ws" else patient)(scope, receive, send)

    url = served(by_path)
    # On a busy machine even a client that reads may not be scheduled for a third of a second.
    quick = await open_socket(url.replace("/ws", "/patient"))
    slow = await open_slow_socket(url)
    await quick.send(request(0, "loop"))
    await quick.recv()
    for ws in (quick, slow):
        await ws.send(request(1, "subscribe", "newHeads"))
        await ws.recv()
    slow.transport.pause_reading()
    result = b'"%b"' % (b"x" * 200_000)
    for _ in range(120):
        asyncio.run_coroutine_threadsafe(notify(hub.subscriptions("newHeads"), [result]), loops[0])
        assert len(await quick.recv()) > len(result)
    await until(lambda: hub.connections == 1)
    await quick.send(NUMBER)
    assert await quick.recv() == NUMBER_ANSWER
    slow.transport.abort()
    await slow.wait_closed()
    await quick.close()


async def test_reader_that_resumes_in_time_gets_the_reason(
    application, registry, hub, served
) -> None:
    loops = []
    registry.add("loop", lambda: loops.append(asyncio.get_running_loop()), hot=True)
    outbound = OutboundLimits(messages=5, seconds=SECONDS)
    url = served(application(limits=SocketLimits(outbound=outbound)))
    first = await open_socket(url)
    await first.send(request(0, "loop"))
    await first.recv()
    await first.close()
    ws = await open_slow_socket(url)
    await ws.send(request(1, "subscribe", "newHeads"))
    await ws.recv()
    ws.transport.pause_reading()
    (subscription,) = hub.subscriptions("newHeads")
    result = b'"%b"' % (b"x" * 900_000)
    for _ in range(20):
        asyncio.run_coroutine_threadsafe(notify(hub.subscriptions("newHeads"), [result]), loops[0])
    await until(lambda: subscription.sink.closed)
    ws.transport.resume_reading()
    received = [message async for message in until_closed(ws)]
    await ws.close()
    assert 0 < len(received) < 20
    assert (ws.close_code, ws.close_reason) == (1013, "too slow: messages wait for too long")


@pytest.mark.parametrize("compression", [None, "deflate"])
@pytest.mark.parametrize("size", [0, 10, 125, 126, 65_535, 65_536, 300_000])
async def test_under_uvicorn_messages_of_every_size_arrive_whole(
    application, served, size, compression
) -> None:
    ws = await open_socket(served(application(), deflate=True), compression=compression)
    text = "é" * (size // 2)
    await ws.send(request(1, "echo", text))
    assert msgspec.json.decode(await ws.recv())["result"] == text
    await ws.send(NUMBER)
    assert await ws.recv() == NUMBER_ANSWER
    await ws.close()


async def test_under_uvicorn_a_refusal_has_a_status(application, hub, served) -> None:
    config = GateConfig(websocket_origins=("https://a.example",))
    url = served(application(config))
    allowed = await open_socket(url, origin="https://a.example")
    await allowed.close()
    await until(lambda: hub.connections == 0)
    with pytest.raises(InvalidStatus) as refused:
        await open_socket(url, origin="https://evil.example")
    assert refused.value.response.status_code == 403
    others = [await open_socket(url) for _ in range(3)]
    with pytest.raises(InvalidStatus) as refused:
        await open_socket(url)
    assert refused.value.response.status_code == 503
    for ws in others:
        await ws.close()
