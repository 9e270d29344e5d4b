"""The URLs of the P-Chain's admin pages, as the address bar shows them."""

ADMIN = "/admin/"
PLATFORM = "/admin/platform_app/"
SHARED = "/admin/shared_app/"

MODELS = (
    "block",
    "tx",
    "validator",
    "delegator",
    "subnet",
    "blockchain",
    "utxo",
    "sharedoutput",
    "mempooltx",
    "droppedtx",
    "keystoreuser",
)


def listing(model: str) -> str:
    """Return the URL of a change list."""
    return f"{_app(model)}{model}/"


def detail(model: str, key: object) -> str:
    """Return the URL of a row's page."""
    return f"{_app(model)}{model}/{key}/change/"


def export(model: str) -> str:
    """Return the URL of a list's export."""
    return f"{_app(model)}{model}/export/"


def _app(model: str) -> str:
    """Return the URL of the app of a model: outputs between chains belong to no chain."""
    return SHARED if model == "sharedoutput" else PLATFORM
