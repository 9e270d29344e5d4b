"""The peer network as a thread of the embedded profile's one process."""

import asyncio
import contextlib
import logging
import threading
from functools import partial

import uvloop

from chaindb.connections import in_thread
from network_app.node import NodeNetwork
from network_app.runtime import RunningNetwork

_log = logging.getLogger(__name__)


RETRY = 5.0
"""Seconds after which a network that ended unexpectedly is restarted."""


class EmbeddedNetwork:
    """The peer network on its own event loop, beside the web server's.

    Args:
        node: The node's part in its network.
    """

    def __init__(self, node: NodeNetwork) -> None:
        self._node = node
        self._first = RunningNetwork(node)
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
        network: RunningNetwork | None = self._first
        while not self._stopping.is_set():
            try:
                if network is None:
                    network = await in_thread(partial(RunningNetwork, self._node))
                await network.run(self._stopping)
            except (
                Exception
            ):  # RPC continues, health reports the missing network, and it is restarted
                _log.exception("the peer network stopped; restarting in %g s", RETRY)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), RETRY)
            network = None
