"""uvicorn's protocols of this node: the direct door before all others, and limits for strangers."""

import nodeproject.asgi  # noqa: F401  # uvicorn imports this module first, and models need Django's setup
from jsonrpc import direct
from jsonrpc.http import by_path
from jsonrpc.socket_protocol import GuardedWebSocket
from nodeproject import doors
from nodeproject.chain_paths import SocketPaths


class Protocol(direct.DirectProtocol):
    """The direct door to this node's endpoints."""

    heads = direct.Heads(by_path(doors.of_cchain()))
    held = doors.connections()
    memory = doors.memory()
    websocket_paths = SocketPaths(doors.CCHAIN_WEBSOCKET)


class WebSocket(GuardedWebSocket):
    """The sockets of this node, counted with its other connections."""

    held = doors.connections()
    memory = doors.memory()
    client_of = staticmethod(doors.cchain().gate.client)
