"""The broker of the embedded profile: Celery's in-memory transport without its polling.

Kombu's memory transport polls for messages on a timer; here a put wakes the waiting worker.
"""

import threading
from typing import Any

from kombu.transport import memory
from typing_extensions import override


class Channel(memory.Channel):
    """A channel whose puts wake the consumers."""

    @override
    def _put(self, queue: str, message: Any, **kwargs: Any) -> None:
        super()._put(queue, message, **kwargs)
        Transport.wake()


class Transport(memory.Transport):
    """The memory transport, whose `drain_events` waits on a condition instead of sleeping."""

    Channel = Channel
    arrived = threading.Condition()
    arrivals = 0

    @classmethod
    def wake(cls) -> None:
        """Wake the consumers immediately, to look for messages or to end."""
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
        """Take the available messages without waiting. Raises TimeoutError if there are none."""
        super().drain_events(connection, timeout=1e-9)
