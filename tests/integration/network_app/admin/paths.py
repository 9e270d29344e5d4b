"""The URLs of the network's admin pages, as the address bar shows them."""

from tests.integration.network_app.admin import past

ADMIN = "/admin/"
NETWORK = "/admin/network_app/"
MODELS = ("peer", "chainsync", "outerblock", "networkstatus", "blockdecision")
KEYS: dict[str, object] = {
    "peer": past.node(4),
    "chainsync": "C",
    "outerblock": past.block_id("C", 7),
    "networkstatus": 1,
    "blockdecision": past.decision(7),
}
"""The key of one row of each kind."""


def listing(model: str) -> str:
    """Return the URL of a change list."""
    return f"{NETWORK}{model}/"


def detail(model: str, key: object) -> str:
    """Return the URL of a row's page."""
    return f"{NETWORK}{model}/{key}/change/"
