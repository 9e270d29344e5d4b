"""WebSockets as a Channels consumer, to be routed like any other.

`session` processes the messages of a socket.
"""

from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from typing_extensions import override

from jsonrpc.http.answering import Answering
from jsonrpc.http.replies import Endpoint
from jsonrpc.limits.memory import RequestMemory
from jsonrpc.websocket.hub import Hub
from jsonrpc.websocket.session import Session, SocketLimits


class JsonRpcConsumer(AsyncWebsocketConsumer):
    """One socket. Created by `as_asgi(endpoint=…, hub=…, answering=…)`."""

    def __init__(
        self,
        *,
        endpoint: Endpoint,
        hub: Hub,
        answering: Answering,
        limits: SocketLimits | None = None,
        memory: RequestMemory | None = None,
    ) -> None:
        super().__init__()
        self._endpoint = endpoint
        self._hub = hub
        self._answering = answering
        self._limits = limits or SocketLimits()
        self._memory = memory or RequestMemory()

    @override
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the socket from its opening to its end.

        Channels' own loop uses the channel layer, and a thread for database connections, before each message.
        Neither is needed here: the hub replaces the layer, and the workers manage their own connections.
        """
        session = Session(
            self._endpoint,
            self._hub,
            self._answering,
            limits=self._limits,
            memory=self._memory,
            send=send,
        )
        await session.run(scope, receive)
