"""The table of paths, as the specification's first section has it, and its OpenAPI page.

In production the raw door answers these paths before Django does; both call the same dispatcher.
"""

from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI

from jsonrpc.ninja_door import respond
from nodeproject import doors

api = NinjaAPI(title="Node", version="1", docs_url="/ext/docs", openapi_url="/ext/openapi.json")


@api.api_operation(
    ["GET", "POST", "OPTIONS"], "/ext/bc/C/rpc", summary="C-Chain: Ethereum-compatible JSON-RPC"
)
def cchain_rpc(request: HttpRequest) -> HttpResponse:
    """One JSON-RPC 2.0 request or a batch; the methods are those of Ethereum clients."""
    return respond(request, doors.cchain())
