"""The peer network as a thread of the embedded profile's one process."""

import asyncio
import logging
import threading

from network_app.runtime import RunningNetwork

_log = logging.getLogger(__name__)


class EmbeddedNetwork:
    """The network on an event loop of its own, beside the web server's."""

    def __init__(self) -> None:
        self._network = RunningNetwork()
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="network", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout: float = 10.0) -> None:
        """Say goodbye to the peers and end the thread."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(timeout)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._network.run(self._stopping))
        except (
            Exception
        ):  # the thread's last word: RPC goes on, health says that the network is gone
            _log.exception("the peer network ended")
        finally:
            self._loop.close()
