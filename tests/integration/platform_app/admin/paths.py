"""Where the admin's pages of the P-Chain are, as a person sees them in the address bar."""

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
    """Return the address of a list."""
    return f"{PLATFORM}{model}/"


def detail(model: str, key: object) -> str:
    """Return the address of a row's page."""
    return f"{PLATFORM}{model}/{key}/change/"


def export(model: str) -> str:
    """Return the address of a list as a file."""
    return f"{PLATFORM}{model}/export/"
