"""The broker of the embedded profile: Celery's in-memory transport without its polling.

Kombu's memory transport looks for messages on a timer; here a waiting worker is woken by the put.
"""

import threading
from typing import Any

from kombu.transport import memory
from typing_extensions import override


class Channel(memory.Channel):
    """A channel whose puts wake whoever drains."""

    @override
    def _put(self, queue: str, message: Any, **kwargs: Any) -> None:
        super()._put(queue, message, **kwargs)
        Transport.wake()


class Transport(memory.Transport):
    """The memory transport with `drain_events` waiting on a condition instead of sleeping."""

    Channel = Channel
    arrived = threading.Condition()
    arrivals = 0

    @classmethod
    def wake(cls) -> None:
        """Let whoever drains look at once: for messages, and whether it is to end."""
        with cls.arrived:
            cls.arrivals += 1
            cls.arrived.notify_all()

    @override
    def drain_events(self, connection: Any, timeout: float | None = None, **_: Any) -> None:
        seen = Transport.arrivals
        try:
            self._look(connection)
        except TimeoutError:
            with Transport.arrived:
                if not Transport.arrived.wait_for(lambda: Transport.arrivals != seen, timeout):
                    raise
            self._look(connection)

    def _look(self, connection: Any) -> None:
        """Take what is there without waiting. Raises TimeoutError when there is nothing."""
        super().drain_events(connection, timeout=1e-9)
