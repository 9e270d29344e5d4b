"""The page on how to connect: URLs, the chain's parameters for wallets, code for clients, and public keys."""

from typing import Final, NamedTuple

from django.http import HttpRequest, HttpResponse

from chaindb.chains import X_CHAIN, is_left_out
from explorer_app.selectors import known_accounts
from explorer_app.site import Explorer
from explorer_app.views.page import name_for_wallets, page, rendered
from primitives.networks import LOCAL


class WalletEndpoint(NamedTuple):
    """A URL of an interface for programs."""

    name: str
    scheme: str
    """`http` or `ws`; the page shows `https` or `wss` if it was itself requested over TLS."""
    path: str
    alias: str = ""
    """Another path of the same interface."""


_PLATFORM: Final = WalletEndpoint("P-Chain JSON-RPC", "http", "/ext/bc/P")
_XCHAIN: Final = WalletEndpoint("X-Chain JSON-RPC", "http", "/ext/bc/X")
_INFO: Final = WalletEndpoint("Info", "http", "/ext/info")


def _of_evm(site: Explorer) -> list[WalletEndpoint]:
    """Return the interfaces of the chain of the page; the C-Chain's are also at the root."""
    kinds = (("JSON-RPC", "http", "/rpc"), ("WebSocket", "ws", "/ws"))
    if site.is_of_cchain:
        return [
            WalletEndpoint(f"C-Chain {kind}", scheme, "/", f"{site.rpc_path}{end}")
            for kind, scheme, end in kinds
        ]
    by_id = f"/ext/bc/{site.evm.blockchain_id}"
    is_by_name = site.rpc_path != by_id
    return [
        WalletEndpoint(
            f"{site.evm.title} {kind}",
            scheme,
            f"{site.rpc_path}{end}",
            f"{by_id}{end}" if is_by_name else "",
        )
        for kind, scheme, end in kinds
    ]


@page
def connect(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show how to connect."""
    is_local = site.node.network_id == LOCAL
    has_accounts = is_local and site.has_evm
    chain_id = site.evm.config.chain_id if site.has_evm else None
    context = {
        "section": "connect",
        "host": request.get_host(),
        "endpoints": [
            *(_of_evm(site) if site.has_evm else ()),
            _PLATFORM,
            *(() if is_left_out(X_CHAIN) else (_XCHAIN,)),
            _INFO,
        ],
        "network_id": site.node.network_id,
        "node_id": site.node_id(),
        "chain_id": chain_id,
        "chain_id_hex": "" if chain_id is None else hex(chain_id),
        "accounts": list(known_accounts.of_evm(site.evm)) if has_accounts else [],
        "wallet": known_accounts.public_wallet(site.evm) if has_accounts else None,
        "platform_accounts": list(known_accounts.of_platform(site.platform.config.hrp))
        if is_local and site.is_of_cchain
        else [],
        "wallet_name": name_for_wallets(site),
    }
    return rendered(site, request, "connect.html", context)
