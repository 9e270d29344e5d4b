"""The format of NODE_BASE_PATH."""

import re
from typing import Final

from primitives.flags import FormError, TextFormat

FIRST_PARTS: Final = frozenset(
    {
        "address", "admin", "api", "block", "blocks", "check-all-by-addresses", "connect", "contracts", "ext", "faucet",
        "p", "pool", "repo-ui", "search", "server", "solcversions", "static", "suggest", "token", "tokens", "tx", "txs",
        "v2",
    }
)  # fmt: skip
"""First segments of the node's own paths."""

_FORM: Final = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
"""Non-empty segments without a leading dot. Such a path never leads to another host and needs no escaping in HTML."""
_MAX_LENGTH: Final = 128


def read_base_path(text: str) -> str:
    """Return a path without its trailing slash; the root becomes an empty text.

    Raises:
        FormError: The text is not a path of plain segments, such as `/node` or `/chains/local`.
    """
    path = text.removesuffix("/")
    if path and (len(path) > _MAX_LENGTH or not _FORM.fullmatch(path)):
        raise FormError("letters, digits and - _ ~ . between slashes")
    return path


def _read_setting(text: str) -> str:
    path = read_base_path(text)
    if path.split("/")[1:2] and path.split("/")[1] in FIRST_PARTS:
        raise FormError("the node has pages of its own there")
    return path


BASE_PATH: Final = TextFormat("a path like /node", _read_setting)
