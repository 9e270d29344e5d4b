"""uvicorn's HTTP protocol of this node: the direct fast path for requests, and limits for unknown clients."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import nodeproject.asgi  # noqa: F401  # uvicorn imports this module first, and models need Django's setup
from cchain_app.api import EvmRpc
from jsonrpc.http import fast_path
from jsonrpc.http.plain_heads import RequestHeads
from jsonrpc.http.pooled import PooledRequests
from jsonrpc.http.replies import Endpoint, by_path
from nodeproject.apps import this_node
from nodeproject.web.paths import SocketPaths
from nodeproject.web.rpc_paths import CCHAIN_WEBSOCKETS, socket_paths

if TYPE_CHECKING:  # loaded beside the first answers
    from nodeproject.web.get_pages import PlainPages

_WEBSOCKET: Final = "nodeproject.processes.uvicorn_websocket"
_ENDPOINTS = this_node().endpoints


class NodeProtocol(fast_path.DirectProtocol):
    """The direct fast path to this node's endpoints."""

    heads = RequestHeads(_ENDPOINTS.table)
    whole = _ENDPOINTS.cchain.whole
    pooled = PooledRequests(whole) if whole else None
    answering = _ENDPOINTS.answering
    held = _ENDPOINTS.connections
    memory = _ENDPOINTS.memory
    turn = this_node().turn
    interpreter = _ENDPOINTS.interpreter
    current = this_node().head
    websocket_paths = SocketPaths(
        {*CCHAIN_WEBSOCKETS, *_ENDPOINTS.sockets()}, _ENDPOINTS.base_paths.without
    )


def _serve_added(endpoint: Endpoint, rpc: EvmRpc) -> None:
    """Let the protocols know the paths of a chain that the process begins to run."""
    NodeProtocol.heads.add(by_path([endpoint]))
    NodeProtocol.websocket_paths.add(*socket_paths(rpc.chain))


def _serve_all(pages: "PlainPages") -> None:
    """Let the protocol know the interfaces of all chains and services, and the pages; until then the application has them."""
    NodeProtocol.heads.add(_ENDPOINTS.table)
    NodeProtocol.independent_paths = frozenset(
        path.encode()
        for path, endpoint in _ENDPOINTS.table.items()
        if endpoint is not _ENDPOINTS.cchain
    )
    NodeProtocol.pages = pages.at_once
    import_module(_WEBSOCKET)


_ENDPOINTS.on_added.append(_serve_added)
_ENDPOINTS.on_removed.append(lambda endpoint, _: NodeProtocol.heads.remove(by_path([endpoint])))
this_node().on_serving_all.append(_serve_all)


def web_socket(*arguments: Any, **options: Any) -> Any:
    """Return the protocol of a WebSocket connection. Its module is imported with the first one, or before."""
    return import_module(_WEBSOCKET).WebSocket(*arguments, **options)
