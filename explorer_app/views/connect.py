"""The page on how to connect: URLs, the chain's parameters for wallets, code for clients, and public keys."""

from typing import Final, NamedTuple

from django.http import HttpRequest, HttpResponse

from chaindb.chains import X_CHAIN, is_left_out
from explorer_app.selectors import known_accounts
from explorer_app.site import Explorer
from explorer_app.views.page import page, rendered
from primitives.networks import LOCAL


class WalletEndpoint(NamedTuple):
    """A URL of an interface for programs."""

    name: str
    scheme: str
    """`http` or `ws`; the page shows `https` or `wss` if it was itself requested over TLS."""
    path: str
    alias: str = ""
    """Another path of the same interface."""


_CCHAIN: Final = (
    WalletEndpoint("C-Chain JSON-RPC", "http", "/", "/ext/bc/C/rpc"),
    WalletEndpoint("C-Chain WebSocket", "ws", "/", "/ext/bc/C/ws"),
)
_PLATFORM: Final = WalletEndpoint("P-Chain JSON-RPC", "http", "/ext/bc/P")
_XCHAIN: Final = WalletEndpoint("X-Chain JSON-RPC", "http", "/ext/bc/X")
_INFO: Final = WalletEndpoint("Info", "http", "/ext/info")


@page
def connect(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show how to connect."""
    is_local = site.node.network_id == LOCAL
    is_local_cchain = is_local and site.has_cchain
    chain_id = site.evm.config.chain_id if site.has_cchain else None
    context = {
        "section": "connect",
        "host": request.get_host(),
        "endpoints": [
            *(_CCHAIN if site.has_cchain else ()),
            _PLATFORM,
            *(() if is_left_out(X_CHAIN) else (_XCHAIN,)),
            _INFO,
        ],
        "network_id": site.node.network_id,
        "node_id": site.node_id(),
        "chain_id": chain_id,
        "chain_id_hex": "" if chain_id is None else hex(chain_id),
        "accounts": list(known_accounts.of_cchain(site.evm)) if is_local_cchain else [],
        "wallet": known_accounts.public_wallet(site.evm) if is_local_cchain else None,
        "platform_accounts": list(known_accounts.of_platform(site.platform)) if is_local else [],
    }
    return rendered(site, request, "connect.html", context)
