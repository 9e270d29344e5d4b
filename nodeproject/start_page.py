"""The page at `/` for whoever opens the node in a browser: what is here, and where."""

from typing import Any, NamedTuple

from django.template.loader import render_to_string

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from cchain_app.selectors.blocks import NoGenesis
from chaindb.chains import Chain
from nodeproject.addresses import base_url
from nodeproject.settings.node import NodeSettings
from nodeproject.settings.theme import FAVICON
from platform_app.api.own_node import own_node_id
from platform_app.chain import NoGenesis as NoPlatformGenesis
from platform_app.chain import PlatformChain
from primitives.networks import LOCAL, name_of

TEMPLATE = "start.html"


class Door(NamedTuple):
    """An interface that programs call."""

    name: str
    scheme: str
    """`http` or `ws`; the page shows the secure one where it was fetched over TLS itself."""
    path: str
    remark: str = ""


class StartPage:
    """Makes the page.

    Args:
        settings: What the node's operator has set.
        evm: The C-Chain.
        platform: The P-Chain.
    """

    def __init__(self, settings: NodeSettings, evm: EvmChain, platform: PlatformChain) -> None:
        self._settings = settings
        self._evm = evm
        self._platform = platform

    def html(self) -> bytes:
        """Return the page as it is now. It reads rows."""
        return render_to_string(TEMPLATE, self.facts()).encode()

    def facts(self) -> dict[str, Any]:
        """Return what the page shows, by the names that its template has for it."""
        settings, has_cchain = self._settings, Chain.C.is_here
        return {
            "favicon": FAVICON,
            "host": base_url(settings).partition("://")[2],
            "network": name_of(settings.network_id),
            "network_id": settings.network_id,
            "is_local": settings.network_id == LOCAL,
            "node_id": str(own_node_id(self._platform) or ""),
            "platform_height": self._platform_height(),
            "chain_id": self._evm.config.chain_id if has_cchain else None,
            "height": self._height() if has_cchain else None,
            "doors": [*(_CCHAIN if has_cchain else ()), *_ALWAYS],
        }

    def _platform_height(self) -> int | None:
        try:
            return self._platform.tip().height
        except NoPlatformGenesis:
            return None

    def _height(self) -> int | None:
        try:
            return blocks.head(self._evm).number
        except NoGenesis:
            return None


_CCHAIN = (
    Door("C-Chain JSON-RPC", "http", "/", "the same as /ext/bc/C/rpc"),
    Door("C-Chain WebSocket", "ws", "/", "the same as /ext/bc/C/ws"),
)
_ALWAYS = (
    Door("P-Chain JSON-RPC", "http", "/ext/bc/P"),
    Door("Info", "http", "/ext/info"),
)
