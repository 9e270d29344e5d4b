"""Celery's connections to its broker.

The embedded profile keeps the messages in memory. Kombu's memory transport polls for messages on a timer; here a put wakes the
waiting worker. In the production profile Kombu's wait between attempts to reconnect grows by two seconds with each, up to
thirty, and `ensure_connection`, with which Celery's worker and beat reconnect, ignores other values in the transport's
options; here the connections wait as configured.
"""

import threading
from typing import Any, Final, Self

from celery.app.amqp import AMQP
from kombu import Connection
from kombu.transport import memory
from typing_extensions import override

QUEUES: Final = ("chain", "default")
"""The queues of tasks."""


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
            self._take_available(connection)
        except TimeoutError:
            with Transport.arrived:
                if not Transport.arrived.wait_for(lambda: Transport.arrivals != seen, timeout):
                    raise
            self._take_available(connection)

    def _take_available(self, connection: Any) -> None:
        """Take the available messages without waiting. Raises TimeoutError if there are none."""
        super().drain_events(connection, timeout=1e-9)


_WAITS: Final = ("interval_start", "interval_step", "interval_max")
"""Names of `ensure_connection`'s arguments, and of the transport's options, in seconds."""


class BrokerConnection(Connection):
    """A connection that waits between attempts as its transport's options say."""

    @override
    def ensure_connection(self, *args: Any, **kwargs: Any) -> Self:
        options: dict[str, Any] = self.transport_options or {}
        waits: dict[str, Any] = {name: options[name] for name in _WAITS if name in options}
        return super().ensure_connection(*args, **waits | kwargs)


class BrokerAMQP(AMQP):
    """The factory of Celery's connections."""

    Connection = BrokerConnection
