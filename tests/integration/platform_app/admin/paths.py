"""The URLs of the P-Chain's admin pages, as the address bar shows them."""

ADMIN = "/admin/"
PLATFORM = "/admin/platform_app/"

MODELS = (
    "block",
    "tx",
    "validator",
    "delegator",
    "subnet",
    "blockchain",
    "utxo",
    "sharedutxo",
    "mempooltx",
    "droppedtx",
    "keystoreuser",
)


def listing(model: str) -> str:
    """Return the URL of a change list."""
    return f"{PLATFORM}{model}/"


def detail(model: str, key: object) -> str:
    """Return the URL of a row's page."""
    return f"{PLATFORM}{model}/{key}/change/"


def export(model: str) -> str:
    """Return the URL of a list's export."""
    return f"{PLATFORM}{model}/export/"
