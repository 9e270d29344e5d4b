"""The table of paths, as the specification's first section has it, and its OpenAPI page.

In production the raw door answers these paths before Django does; both call the same dispatcher.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI

from jsonrpc.ninja_door import respond
from nodeproject import doors

api = NinjaAPI(title="Node", version="1", docs_url="/ext/docs", openapi_url="/ext/openapi.json")


def json_rpc(method: str) -> dict[str, Any]:
    """Return what the OpenAPI page says of a JSON-RPC path: its body, with a call to try."""
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": []}
    schema = {"oneOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}]}
    content = {"application/json": {"schema": schema, "example": call}}
    return {"requestBody": {"required": True, "content": content}}


@api.post(
    "/ext/bc/C/rpc",
    summary="C-Chain: Ethereum-compatible JSON-RPC",
    openapi_extra=json_rpc("eth_blockNumber"),
)
def cchain_rpc(request: HttpRequest) -> HttpResponse:
    """One JSON-RPC 2.0 request or a batch; the methods are those of Ethereum clients."""
    return respond(request, doors.cchain())


@api.api_operation(["GET", "OPTIONS"], "/ext/bc/C/rpc", include_in_schema=False)
def cchain_rpc_without_body(request: HttpRequest) -> HttpResponse:
    """Probes and CORS preflights of the same path."""
    return respond(request, doors.cchain())
