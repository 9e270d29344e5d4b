"""Broker connections that wait between reconnection attempts as configured.

Kombu's wait grows by two seconds with each attempt, up to thirty, and `ensure_connection`, with which
Celery's worker and beat reconnect, ignores other values in the transport's options.
"""

from typing import Any, Final, Self

from celery.app.amqp import AMQP
from kombu import Connection
from typing_extensions import override

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
