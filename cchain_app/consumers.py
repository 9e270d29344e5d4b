"""The C-Chain's WebSocket, /ext/bc/C/ws: the methods of HTTP, and subscriptions."""

from cchain_app.api.rpc import EvmRpc
from jsonrpc.http.answering import Answering
from jsonrpc.http.replies import Endpoint
from jsonrpc.limits.memory import RequestMemory
from jsonrpc.websocket.consumer import JsonRpcConsumer
from jsonrpc.websocket.session import SocketLimits


class EthConsumer(JsonRpcConsumer):
    """A WebSocket connection. Made by `as_asgi(rpc=…, endpoint=…, answering=…, memory=…)`."""

    def __init__(
        self,
        *,
        rpc: EvmRpc,
        endpoint: Endpoint,
        answering: Answering,
        memory: RequestMemory | None = None,
    ) -> None:
        super().__init__(
            endpoint=endpoint,
            hub=rpc.hub,
            answering=answering,
            limits=SocketLimits(message=rpc.chain.settings.ws.message_limit),
            memory=memory,
        )
