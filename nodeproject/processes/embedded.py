"""Threads of the embedded profile's one process: Celery's worker and beat, and the peer network."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import uvloop

from chaindb.connections import in_thread

if TYPE_CHECKING:  # loaded beside the first answers
    from network_app.node import NodeNetwork
    from network_app.runtime import RunningNetwork

_HEAD_START: Final = 0.3
"""Seconds that the first requests, often all of a short test, have the interpreter without Celery being imported. The
schedule's first tasks are due after a second."""

_END_SECONDS: Final = 0.05
"""Seconds between checks whether the worker has ended."""


class EmbeddedWorkers:
    """A worker that runs tasks one after the other, and the beat that sends them on schedule.

    The worker's thread imports Celery when the node already answers, because that takes as long as a quarter of the
    start. Tasks that are sent before wait in the broker.
    """

    def __init__(self) -> None:
        self._worker: Any = None
        """Celery's worker, once the thread has made it."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="celery", daemon=True)

    def start(self) -> None:
        """Start the worker's thread, which starts that of the beat."""
        self._thread.start()

    def stop(self, timeout: float = 10.0) -> None:
        """Let the running task finish and end the worker's thread; the beat's thread ends with the process."""
        self._stopping.set()
        deadline = time.monotonic() + timeout
        while self._thread.is_alive() and time.monotonic() < deadline:
            if self._worker is not None:
                _end_worker()
            self._thread.join(_END_SECONDS)

    def _run(self) -> None:
        if self._stopping.wait(_HEAD_START):
            return
        from celery import beat

        from nodeproject.celery import app
        from nodeproject.processes.beat import Scheduler
        from nodeproject.processes.broker import QUEUES

        self._worker = app.WorkController(
            pool_cls="solo",
            concurrency=1,
            queues=",".join(QUEUES),
            hostname="embedded",
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        if self._stopping.is_set():
            return
        # The schedule is code and only this process runs it, so nothing needs to be stored.
        sender: Any = beat.EmbeddedService(app, thread=True, scheduler_cls=Scheduler)
        sender.daemon = True
        sender.start()
        self._worker.start()
        # The beat may sleep until its next message is due, so do not wait for it.
        sender.service.stop(wait=False)


def _end_worker() -> None:
    """Make Celery's worker end as soon as it looks for messages, and look now."""
    from celery.worker import state

    from nodeproject.processes.broker import Transport

    state.should_stop = 0  # type: ignore[assignment]  # Celery's own way: an exit status
    Transport.wake()  # the worker waits for messages once more after `should_stop` was set


_log = logging.getLogger(__name__)


RETRY = 5.0
"""Seconds after which a network that ended unexpectedly is restarted."""


class EmbeddedNetwork:
    """The peer network on its own event loop, beside the web server's.

    Args:
        find: Returns the node's part in its network. Blocking.
    """

    def __init__(self, find: "Callable[[], NodeNetwork]") -> None:
        self._find = find
        self._loop = uvloop.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="network", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout: float = 10.0) -> None:
        """Disconnect from the peers and end the thread."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(timeout)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._live())
        finally:
            self._loop.close()

    async def _live(self) -> None:
        """Run until the stop event is set. A long database outage does not end the network."""
        while not self._stopping.is_set():
            try:
                network = await in_thread(self._create)
                await network.run(self._stopping)
            except (
                Exception
            ):  # RPC continues, health reports the missing network, and it is restarted
                _log.exception("the peer network stopped; restarting in %g s", RETRY)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), RETRY)

    def _create(self) -> "RunningNetwork":
        """Return the network's connections."""
        node = self._find()
        from network_app.runtime import RunningNetwork

        return RunningNetwork(node)
