"""Where the admin's pages are, as a person sees them in the address bar."""

ADMIN = "/admin/"
CCHAIN = "/admin/cchain_app/"

MODELS = (
    "block",
    "transaction",
    "log",
    "call",
    "contractcreation",
    "account",
    "accountchange",
    "contract",
    "pooltransaction",
    "developmentchange",
    "snapshot",
    "impersonation",
    "impersonatedsignature",
    "createdaccount",
    "forkedaccount",
    "forkedslot",
    "forkedhash",
)


def listing(model: str) -> str:
    """Return the address of a list."""
    return f"{CCHAIN}{model}/"


def detail(model: str, key: object) -> str:
    """Return the address of a row's page."""
    return f"{CCHAIN}{model}/{key}/change/"


def hexed(value: bytes) -> str:
    """Return 0x text."""
    return "0x" + value.hex()
