"""uvicorn's protocols of this node: the direct fast path for requests, and limits for unknown clients."""

import nodeproject.asgi  # noqa: F401  # uvicorn imports this module first, and models need Django's setup
from cchain_app.api import EvmRpc
from jsonrpc.http import fast_path
from jsonrpc.http.plain_heads import RequestHeads
from jsonrpc.http.pooled import PooledRequests
from jsonrpc.http.replies import Endpoint, by_path
from jsonrpc.websocket.uvicorn_protocol import GuardedWebSocket
from nodeproject.apps import this_node
from nodeproject.web.paths import SocketPaths
from nodeproject.web.rpc_paths import CCHAIN_WEBSOCKETS, socket_paths

_ENDPOINTS = this_node().endpoints


class NodeProtocol(fast_path.DirectProtocol):
    """The direct fast path to this node's endpoints."""

    heads = RequestHeads(_ENDPOINTS.table)
    whole = _ENDPOINTS.cchain.whole
    pooled = PooledRequests(whole) if whole else None
    answering = _ENDPOINTS.answering
    pages = this_node().plain.at_once
    held = _ENDPOINTS.connections
    memory = _ENDPOINTS.memory
    turn = this_node().turn
    interpreter = _ENDPOINTS.interpreter
    current = this_node().head
    independent_paths = frozenset(
        path.encode()
        for endpoint in _ENDPOINTS.all()
        if endpoint is not _ENDPOINTS.cchain
        for path in endpoint.paths
    )
    websocket_paths = SocketPaths(
        {*CCHAIN_WEBSOCKETS, *_ENDPOINTS.sockets()}, _ENDPOINTS.base_paths.without
    )


def _serve_added(endpoint: Endpoint, rpc: EvmRpc) -> None:
    """Let the protocols know the paths of a chain that the process begins to run."""
    NodeProtocol.heads.add(by_path([endpoint]))
    NodeProtocol.websocket_paths.add(*socket_paths(rpc.chain))


_ENDPOINTS.on_added.append(_serve_added)
_ENDPOINTS.on_removed.append(lambda endpoint, _: NodeProtocol.heads.remove(by_path([endpoint])))


class WebSocket(GuardedWebSocket):
    """The WebSockets of this node, counted with its other connections."""

    held = _ENDPOINTS.connections
    memory = _ENDPOINTS.memory
    interpreter = _ENDPOINTS.interpreter
    current = this_node().head
    client_of = staticmethod(_ENDPOINTS.cchain.gate.client)
