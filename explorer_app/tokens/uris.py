"""Metadata URIs of tokens: displayed, but never fetched, because fetching would reveal visitors to the host."""

import base64
import binascii
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from explorer_app.tokens.strings import cleaned

MAX_TEXT: Final = 4096
"""Limit of bytes of a description that are shown."""

_IMAGES: Final = ("png", "jpeg", "gif", "webp", "svg+xml")
_DATA: Final = "data:"


class TokenDescription(NamedTuple):
    """The displayable parts of a token's URI."""

    uri: str
    image: str | None = None
    """The URI itself if it contains an image, which a page can show without a request."""
    text: str | None = None
    """The content of another kind of data URI."""


def described(uri: str) -> TokenDescription:
    """Return the displayable parts of a URI: for `data:` the content, for others the URI as text."""
    if not uri.lower().startswith(_DATA):
        return TokenDescription(uri)
    head, comma, body = uri[len(_DATA) :].partition(",")
    if not comma:
        return TokenDescription(uri)
    kind, *parameters = head.lower().split(";")
    if kind in {f"image/{subtype}" for subtype in _IMAGES}:
        return TokenDescription(uri, image=uri)
    try:
        raw = unquote_to_bytes(body)
        content = base64.b64decode(raw, validate=True) if "base64" in parameters else raw
    except (binascii.Error, ValueError):
        return TokenDescription(uri)
    return TokenDescription(uri, text=cleaned(content, MAX_TEXT))
