"""The URLs of the admin's pages, as the address bar shows them."""

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
    "blob",
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
    """Return the URL of a change list."""
    return f"{CCHAIN}{model}/"


def detail(model: str, key: object) -> str:
    """Return the URL of a row's page."""
    return f"{CCHAIN}{model}/{key}/change/"


def hexed(value: bytes) -> str:
    """Return the bytes as 0x-prefixed hex."""
    return "0x" + value.hex()
