"""The table of paths, as in the specification's first section, with its page and its OpenAPI document.

In production the raw ASGI endpoint answers these paths before Django does; both call the same dispatcher.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from ninja import NinjaAPI
from ninja.openapi.docs import DocsBase
from typing_extensions import override

from cchain_app.chain import EvmChain
from chaindb.chains import C_CHAIN, P_CHAIN, X_CHAIN, is_left_out, title
from explorer_app.site import Explorer
from explorer_app.views.front import front
from explorer_app.views.page import page, rendered
from jsonrpc.http.replies import Endpoint, respond
from nodeproject.apps import this_node
from nodeproject.web import endpoints, get_pages, indexes, interface_paths
from nodeproject.web.endpoints import Endpoints
from nodeproject.web.openrpc.page import inline
from primitives.ids import PRIMARY_NETWORK_ID
from primitives.product import NAME


class PathsPage(DocsBase):
    """The page of the OpenAPI document: one of the explorer's pages, in place of ninja's with Swagger."""

    @override
    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        return show_paths(request, api.get_openapi_schema(path_params=kwargs))


@page
def show_paths(site: Explorer, request: HttpRequest, document: dict[str, Any]) -> HttpResponse:
    """Show the paths of an OpenAPI document, those for POST with an example call."""
    context = {
        "paths": [
            DocumentedPath(path, method.upper(), **_texts(operation))
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
        ],
        "host": request.get_host(),
    }
    return rendered(site, request, "paths.html", context)


class DocumentedPath(NamedTuple):
    """A path with one of its methods, as the page shows it."""

    path: str
    method: str
    summary: SafeString
    description: SafeString
    example: str
    """The body of an example call as JSON; empty if the request has no body."""


def _texts(operation: dict[str, Any]) -> dict[str, Any]:
    """Return the texts of an OpenAPI operation."""
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return {
        "summary": inline(operation["summary"]),
        "description": inline(operation.get("description", "")),
        "example": json.dumps(body["example"]) if "example" in body else "",
    }


api = NinjaAPI(
    title=NAME,
    version="1",
    docs=PathsPage(),
    docs_url=get_pages.DOCUMENTS[0],
    openapi_url=get_pages.DOCUMENTS[1],
)

_OTHER_METHODS: Final = ("GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")
_NOT_GET: Final = ("HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")


def json_rpc(method: str, params: object, *, batches: bool = False) -> dict[str, Any]:
    """Return the OpenAPI description of a JSON-RPC path: its body, with an example call."""
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    one = {"type": "object"}
    schema = {"oneOf": [one, {"type": "array", "items": one}]} if batches else one
    content = {"application/json": {"schema": schema, "example": call}}
    return {"requestBody": {"required": True, "content": content}}


def serve(
    paths: tuple[str, ...],
    endpoint: Callable[[Endpoints], Endpoint],
    *,
    summary: str,
    description: str,
    example: dict[str, Any],
    shown: int = 1,
    others: Sequence[str] = _OTHER_METHODS,
    operation_id: str = "",
) -> None:
    """Add an interface's paths: POST for the page, other methods for probes and CORS preflights.

    The page shows the first `shown` paths; the others are further aliases.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        return respond(request, endpoint(this_node().endpoints))

    for place, path in enumerate(paths):
        documented = api.post(
            path,
            summary=summary,
            description=description,
            operation_id=operation_id or path.strip("/").replace("/", "_"),
            openapi_extra=example,
            include_in_schema=place < shown,
        )
        documented(answer)
        api.api_operation(list(others), path, include_in_schema=False)(answer)


def respond_plain(request: HttpRequest) -> HttpResponse:
    """Answer a request for a plain page, or for an unknown path below /ext."""
    return this_node().plain.respond(request)


def show(path: str, summary: str, *, shown: bool = True, others: Sequence[str] = ("HEAD",)) -> None:
    """Add a plain page: GET for the documentation, other methods for the plain page's own answers."""
    operation_id = "get_" + path.strip("/").replace("/", "_")
    documented = api.get(path, summary=summary, operation_id=operation_id, include_in_schema=shown)
    documented(respond_plain)
    api.api_operation(list(others), path, include_in_schema=False)(respond_plain)


if not is_left_out(C_CHAIN):
    serve(
        tuple(path for path in endpoints.CCHAIN_PATHS if path != interface_paths.ROOT),
        lambda endpoints: endpoints.cchain,
        summary="C-Chain: Ethereum-compatible JSON-RPC",
        description="One JSON-RPC 2.0 request or a batch; the methods are those of Ethereum clients.",
        example=json_rpc("eth_blockNumber", [], batches=True),
    )
    serve(
        (interface_paths.ROOT,),
        lambda endpoints: endpoints.cchain,
        summary="C-Chain: the same",
        description="As /ext/bc/C/rpc, for tools that expect a node with a single chain.",
        example=json_rpc("eth_blockNumber", [], batches=True),
        operation_id="root",
        others=("OPTIONS", "PUT", "PATCH", "DELETE"),
    )
    serve(
        endpoints.AVAX_PATHS,
        lambda endpoints: endpoints.avax,
        summary="C-Chain: transfers from and to other chains",
        description="One JSON-RPC 2.0 request with params by name; methods `avax.…`.",
        example=json_rpc(
            "avax.getAtomicTxStatus", {"txID": "11111111111111111111111111111111LpoYY"}
        ),
    )
for _chain in this_node().chains.of(EvmChain):
    if _chain.name != C_CHAIN and _chain.subnet_id == PRIMARY_NETWORK_ID:
        serve(
            interface_paths.http_paths(_chain),
            partial(endpoints.Endpoints.of_evm, name=_chain.name),
            summary=f"{title(_chain.name)}: Ethereum-compatible JSON-RPC",
            description="One JSON-RPC 2.0 request or a batch, as for the C-Chain.",
            example=json_rpc("eth_blockNumber", [], batches=True),
        )
serve(
    endpoints.PLATFORM_PATHS,
    lambda endpoints: endpoints.platform,
    summary="P-Chain: validators, subnets, balances, transactions",
    description="One JSON-RPC 2.0 request with params by name; methods `platform.…`.",
    example=json_rpc("platform.getCurrentValidators", {"nodeIDs": []}),
    shown=2,
)
serve(
    endpoints.KEYSTORE_PATHS,
    lambda endpoints: endpoints.keystore,
    summary="Keystore: users of this node and their keys",
    description="One JSON-RPC 2.0 request with params by name; methods `keystore.…`.",
    example=json_rpc("keystore.listUsers", {}),
)
serve(
    endpoints.XCHAIN_PATHS,
    lambda endpoints: endpoints.xchain,
    summary="X-Chain: assets, balances, outputs, transactions",
    description="One JSON-RPC 2.0 request with params by name; methods `avm.…`.",
    example=json_rpc("avm.getAssetDescription", {"assetID": "AVAX"}),
)
serve(
    endpoints.XCHAIN_WALLET_PATHS,
    lambda endpoints: endpoints.xchain_wallet,
    summary="X-Chain wallet: issues transactions",
    description="One JSON-RPC 2.0 request with params by name: `wallet.issueTx`.",
    example=json_rpc("wallet.issueTx", {"tx": "0x", "encoding": "hex"}),
)
for _name, _any_chain in this_node().chains.items():
    serve(
        interface_paths.outer_paths(_any_chain),
        partial(endpoints.Endpoints.of_outer, name=_name),
        summary="Outer blocks: epochs and P-Chain heights, for messages between chains",
        description="One JSON-RPC 2.0 request: `proposervm.getCurrentEpoch`, `proposervm.getProposedHeight`. "
        "Each chain has such a path.",
        example=json_rpc("proposervm.getCurrentEpoch", {}),
        shown=1 if _name == P_CHAIN else 0,
    )


def _index(found: Endpoints, path: str) -> Endpoint:
    """Return the interface to a chain's accepted blocks by its path."""
    return found.indexes[path]


for _name, _path in indexes.INDEX_PATHS.items():
    if not is_left_out(_name):
        serve(
            (_path,),
            partial(_index, path=_path),
            summary=f"{title(_name)}: accepted blocks in order, with their outer blocks",
            description="One JSON-RPC 2.0 request with params by name; methods `index.…`.",
            example=json_rpc("index.getContainerByIndex", {"index": 0, "encoding": "hex"}),
        )
for _path in () if is_left_out(X_CHAIN) else indexes.EMPTY_INDEX_PATHS:
    serve(
        (_path,),
        partial(_index, path=_path),
        summary="X-Chain: an index that stays empty, since the chain is linear",
        description="As /ext/index/X/block.",
        example=json_rpc("index.getLastAccepted", {}),
        shown=0,
    )
serve(
    endpoints.INFO_PATHS,
    lambda endpoints: endpoints.info,
    summary="Info: this node's identity, versions, network, peers and uptime",
    description="One JSON-RPC 2.0 request with params by name; methods `info.…`.",
    example=json_rpc("info.isBootstrapped", {"chain": "P"}),
)
serve(
    endpoints.HEALTH_PATHS,
    lambda endpoints: endpoints.health,
    summary="Health: all checks, over JSON-RPC",
    description="One JSON-RPC 2.0 request: `health.health`, `health.readiness`, `health.liveness`.",
    example=json_rpc("health.health", {"tags": []}),
    others=("OPTIONS", "PUT", "PATCH", "DELETE"),
)
show("/ext/health", "Health: all checks; 503 if one of them fails; `?tag=…` selects checks")
show("/ext/health/health", "Health: the same", shown=False, others=_NOT_GET)
show("/ext/health/readiness", "Readiness: 200 once all chains are bootstrapped", others=_NOT_GET)
show("/ext/health/liveness", "Liveness: 200 whenever the node answers", others=_NOT_GET)


@api.api_operation(["GET", "HEAD"], interface_paths.ROOT, include_in_schema=False)
def show_front(request: HttpRequest) -> HttpResponse:
    """Show the explorer's front page at the path at which programs call the C-Chain."""
    return front(request)


show(get_pages.REFERENCE_PATH, "Reference of the RPC methods", others=_NOT_GET)
show(get_pages.OPENRPC_PATH, "The same as an OpenRPC document", others=_NOT_GET)
show(get_pages.METRICS_PATH, "Metrics for Prometheus", others=_NOT_GET)
