"""uvicorn's WebSocket protocol of this node."""

from jsonrpc.websocket.uvicorn_protocol import GuardedWebSocket
from nodeproject.apps import this_node

_ENDPOINTS = this_node().endpoints


class WebSocket(GuardedWebSocket):
    """The WebSockets of this node, counted with its other connections."""

    held = _ENDPOINTS.connections
    memory = _ENDPOINTS.memory
    interpreter = _ENDPOINTS.interpreter
    current = this_node().head
    client_of = staticmethod(_ENDPOINTS.cchain.gate.client)
