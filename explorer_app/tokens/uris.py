"""Where a token says that it is described: shown, never visited. What it names would learn who looks."""

import base64
import binascii
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from explorer_app.tokens.texts import cleaned

MOST_TEXT: Final = 4096
"""Bytes of a description that are shown."""

_IMAGES: Final = ("png", "jpeg", "gif", "webp", "svg+xml")
_DATA: Final = "data:"


class Described(NamedTuple):
    """What a token's URI is for who looks at it."""

    uri: str
    image: str | None = None
    """The URI itself, where it is an image that a page can show without asking anybody."""
    text: str | None = None
    """What a data URI of another kind holds."""


def described(uri: str) -> Described:
    """Return what can be shown of a URI: of `data:` what is in it, of all others their text alone."""
    if not uri.lower().startswith(_DATA):
        return Described(uri)
    head, comma, body = uri[len(_DATA) :].partition(",")
    if not comma:
        return Described(uri)
    kind, *parameters = head.lower().split(";")
    if kind in {f"image/{one}" for one in _IMAGES}:
        return Described(uri, image=uri)
    try:
        raw = unquote_to_bytes(body)
        content = base64.b64decode(raw, validate=True) if "base64" in parameters else raw
    except (binascii.Error, ValueError):
        return Described(uri)
    return Described(uri, text=cleaned(content, MOST_TEXT))
