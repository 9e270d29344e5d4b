"""Few requests run at the same time behind the limit; others wait, or are asked to retry."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async

from jsonrpc.dispatch.gate import Gate, GateConfig
from jsonrpc.dispatch.gorilla import GORILLA
from jsonrpc.dispatch.inflight import Replies
from jsonrpc.http.asgi_rpc import Receive, Scope
from jsonrpc.http.delivery import PART, Message, Send
from jsonrpc.limits.memory import MemoryLimits, RequestMemory
from nodeproject.web.concurrency import HELD, ConcurrencyLimit
from tests.unit.jsonrpc.test_endpoints import Answer, ask

GATE = Gate(GateConfig(node_id="NodeID-x"), GORILLA)


class Pages:
    """An application that reads a body as Django does, and then works until the test ends it."""

    def __init__(self, page: bytes = b"a page") -> None:
        self.page = page
        self.may_end = asyncio.Event()
        self.running = 0
        self.most = 0
        self.left = 0

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive()).get("more_body"):
            pass
        if message["type"] == "http.disconnect":
            self.left += 1
            return
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.may_end.wait()
        finally:
            self.running -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": self.page})


def limit(pages: Pages, **options: Any) -> ConcurrencyLimit:
    return ConcurrencyLimit(pages, **{"at_once": 2, "waiting": 3, "gate": GATE} | options)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0)


@asynccontextmanager
async def asking(app: ConcurrencyLimit, times: int) -> AsyncIterator[list[asyncio.Task[Answer]]]:
    tasks = [asyncio.create_task(get(app)) for _ in range(times)]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def get(app: ConcurrencyLimit, **options: Any) -> Awaitable[Answer]:
    return ask(app, "GET", "/admin/", {"host": "localhost"}, **options)


async def test_few_run_at_once_and_all_that_wait_have_their_turn() -> None:
    pages = Pages()
    async with asking(limit(pages), 5) as tasks:
        await until(lambda: pages.running == 2)
        pages.may_end.set()
        answers = await asyncio.gather(*tasks)

    assert pages.most == 2
    assert [answer.status for answer in answers] == [200] * 5
    assert {answer.body for answer in answers} == {b"a page"}


async def test_a_request_is_refused_when_the_queue_is_full() -> None:
    pages, replies = Pages(), Replies()
    app = limit(pages, replies=replies)
    async with asking(app, 5):
        await until(lambda: pages.running == 2)
        answer = await get(app)

    assert answer.status == 503
    assert answer.body == b"too many concurrent requests: try again in a moment\n"
    assert answer.headers["retry-after"] == "1"
    assert answer.headers["node-id"] == "NodeID-x"
    assert replies.read() == {("GET", 503): 1}


async def test_request_with_a_late_body_is_refused_too() -> None:
    pages = Pages()
    app = limit(pages)
    slow = asyncio.create_task(get(app, parts=(b"a", 0.05, b"b")))
    await asyncio.sleep(0)
    async with asking(app, 5):
        answer = await slow

    assert answer.status == 503
    assert pages.left == 1, "the application was not told that the request is over"


async def test_a_request_waits_for_its_turn_for_so_long_only() -> None:
    pages = Pages()
    app = limit(pages, patience=0.01)
    async with asking(app, 3) as tasks:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=60)
        assert [task.result().status for task in done] == [503]
        pages.may_end.set()
        await asyncio.gather(*tasks)

    assert (await get(app)).status == 200


async def test_slow_bodies_do_not_count_against_the_limit() -> None:
    pages = Pages()
    pages.may_end.set()
    app = limit(pages, waiting=0)
    stuck = [asyncio.create_task(get(app, parts=(b"a", 1e6, b"b"))) for _ in range(10)]
    await asyncio.sleep(0)

    assert (await get(app)).status == 200
    for task in stuck:
        task.cancel()
    await asyncio.gather(*stuck, return_exceptions=True)


class Reader:
    """A client that reads only the response head, and the connection, which is aborted later."""

    def __init__(self) -> None:
        self.transport = self
        self.left = False
        self.sent: list[Message] = []
        self.aborted = asyncio.Event()

    def abort(self) -> None:
        self.aborted.set()

    def is_closing(self) -> bool:
        return self.left

    def get_extra_info(self, _name: str) -> None:
        return None

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        if len(self.sent) > 2:
            await asyncio.get_running_loop().create_future()


async def test_pages_that_are_read_slowly_take_no_place_and_are_cut_off() -> None:
    pages = Pages(b"x" * 3 * PART)
    pages.may_end.set()
    app = limit(pages, waiting=0, stall=0.2)
    readers = [Reader() for _ in range(10)]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

    slow = [asyncio.create_task(app(scope, receive, reader.send)) for reader in readers]  # type: ignore[arg-type]
    await until(lambda: len(readers[-1].sent) == 3)

    assert (await get(app)).body == pages.page
    await asyncio.gather(*slow)
    assert all(reader.aborted.is_set() for reader in readers)
    assert [len(message.get("body", b"")) for message in readers[0].sent] == [0, PART, PART]


@pytest.mark.parametrize("times", [1, 4])
async def test_failed_request_releases_its_slot(times: int) -> None:
    pages = Pages()
    app = limit(pages, waiting=2)
    async with asking(app, times):
        await until(lambda: pages.running == min(times, 2))

    pages.may_end.set()
    async with asking(app, 4) as tasks:
        answers = await asyncio.gather(*tasks)
    assert [answer.status for answer in answers] == [200] * 4


async def test_disconnect_does_not_interrupt_a_running_page() -> None:
    """Django would abandon its thread, and then wait for it on the event loop."""

    class Listening(Pages):
        async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
            await receive()
            listening = asyncio.create_task(receive())
            await asyncio.wait((listening,), timeout=0.01)
            self.left += listening.done()
            listening.cancel()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    pages = Listening()

    assert (await get(limit(pages))).status == 200
    assert pages.left == 0


SCOPE = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}


async def nothing_more() -> Message:
    return {"type": "http.request"}


async def test_waiting_requests_of_disconnected_clients_are_dropped() -> None:
    pages = Pages()
    app = limit(pages, at_once=1)
    async with asking(app, 1) as tasks:
        await until(lambda: pages.running == 1)
        reader = Reader()
        waiting = asyncio.create_task(app(SCOPE, nothing_more, reader.send))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        reader.left = True
        pages.may_end.set()
        await asyncio.gather(waiting, *tasks)

    assert (pages.left, reader.sent) == (1, [])
    assert (await get(app)).status == 200


class Download:
    """An application that makes its page in two halves, the second after the first was sent."""

    def __init__(self) -> None:
        self.sent = 0

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for more in (True, False):
            await send({"type": "http.response.body", "body": b"x" * (HELD + 1), "more_body": more})
            self.sent += 1


async def test_a_long_download_is_sent_while_it_is_made() -> None:
    download = Download()
    app = ConcurrencyLimit(download, at_once=1, waiting=0, gate=GATE)
    arrived: list[int] = []

    async def send(message: Message) -> None:
        if not download.sent:
            arrived.append(len(message.get("body", b"")))

    await app(SCOPE, nothing_more, send)  # type: ignore[arg-type]

    assert download.sent == 2
    assert sum(arrived) == HELD + 1, "the first half was held until the second was made"


async def test_an_unread_download_is_cut_off() -> None:
    app = ConcurrencyLimit(Download(), at_once=1, waiting=0, gate=GATE, stall=0.01)
    reader = Reader()

    await app(SCOPE, nothing_more, reader.send)  # type: ignore[arg-type]

    assert reader.aborted.is_set()
    assert len((await get(app)).body) == 2 * (HELD + 1)


async def test_pages_that_wait_to_be_read_have_a_bound_together() -> None:
    pages = Pages(b"x" * 3 * PART)
    pages.may_end.set()
    memory = RequestMemory(MemoryLimits(maximum=7 * PART, of_client=7 * PART))
    app = limit(pages, waiting=0, memory=memory)
    readers = [Reader() for _ in range(2)]
    slow = [asyncio.create_task(app(SCOPE, nothing_more, reader.send)) for reader in readers]  # type: ignore[arg-type]
    await until(lambda: len(readers[-1].sent) == 3)

    assert memory.held == 6 * PART
    assert (await get(app)).status == 503
    for task in slow:
        task.cancel()
    await asyncio.gather(*slow, return_exceptions=True)
    assert memory.held == 0
    assert (await get(app)).status == 200


class Working(Pages):
    """An application whose pages are made in a thread, like Django's, in several steps; one may wait."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[set[threading.Thread]] = []
        """The threads in which each page was made."""
        self.together = threading.Barrier(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with ThreadSensitiveContext():
            await receive()
            first = await sync_to_async(threading.current_thread)()
            await sync_to_async(self.together.wait)(60)
            self.threads.append({first, await sync_to_async(threading.current_thread)()})
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": self.page})


async def test_threads_are_reused_up_to_the_peak_concurrency() -> None:
    """Each thread has a database connection, whose caches take memory and time to fill."""
    pages = Working()
    app = limit(pages)
    for _ in range(3):
        await get(app)
    assert pages.threads == 3 * [pages.threads[0]]
    assert len(pages.threads[0]) == 1, "steps of one page are made in several threads"

    pages.together = threading.Barrier(2)
    await asyncio.gather(get(app), get(app))
    both = pages.threads[-1] | pages.threads[-2]
    assert pages.threads[0] < both
    assert len(both) == 2

    pages.together = threading.Barrier(1)
    await asyncio.gather(*(get(app) for _ in range(5)))
    assert set.union(*pages.threads) == both
    assert all(thread.is_alive() for thread in both)
