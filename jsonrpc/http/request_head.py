"""What a request's head may say: rules beside those of the parser, over what the parser found.

llhttp refuses by itself two lengths, a length beside a transfer coding, line ends and spaces that are
none.
"""

from collections.abc import Container, Sequence
from http import HTTPStatus
from typing import Final

Headers = Sequence[tuple[bytes, bytes]]
"""Names in lower case, and values, in their order."""

_WEBSOCKET_LINE: Final = 8_000
_WEBSOCKET_LINES: Final = 120
"""What the WebSocket library takes of a head: bytes of a line, and lines."""

_TOO_LARGE: Final = "request head too large"


class Refused(Exception):
    """A head that is not served."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


def check(version: str, target: bytes, headers: Headers, most: int | None) -> None:
    """Refuse what two readers could understand differently, and what is larger than `most` bytes.

    Each request that is not answered by the direct door comes here.

    Raises:
        Refused: it is not served.
    """
    if version not in {"1.0", "1.1"}:
        raise Refused(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "HTTP/1.1 is spoken here")
    if (
        most is not None
        and len(target) + sum(len(name) + len(value) + 4 for name, value in headers) > most
    ):
        raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _TOO_LARGE)
    names = [name for name, _ in headers]
    if b"transfer-encoding" in names:
        codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
        if codings != [b"chunked"] or version == "1.0":
            raise Refused(HTTPStatus.NOT_IMPLEMENTED, "no transfer coding but chunked is known")
    if names.count(b"host") > 1:
        raise Refused(HTTPStatus.BAD_REQUEST, "more than one Host")


def opens_websocket(
    method: str, version: str, target: bytes, headers: Headers, paths: Container[str] | None
) -> bool:
    """Return whether a head that asks for a WebSocket is one's opening (RFC 6455, 4.1).

    Args:
        method: of the request.
        version: likewise.
        target: likewise.
        headers: likewise.
        paths: where there are WebSockets; None for everywhere.

    Raises:
        Refused: it is larger than the WebSocket library takes.
    """
    names = {name for name, _ in headers}
    fits = method == "GET" and version == "1.1" and target.isascii()
    if not fits or not names.isdisjoint({b"transfer-encoding", b"content-length"}):
        return False
    if paths is not None and target.partition(b"?")[0].decode() not in paths:
        return False
    longest = max(len(name) + len(value) + 2 for name, value in headers)
    if max(longest, len(target)) > _WEBSOCKET_LINE or len(headers) > _WEBSOCKET_LINES:
        raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _TOO_LARGE)
    return True


def without_upgrade(method: bytes, version: str, target: bytes, headers: Headers) -> bytes:
    """Return a head again, without the header that asks for another protocol."""
    lines = [b"%b %b HTTP/%b" % (method, target, version.encode())]
    lines += [b"%b: %b" % header for header in headers if header[0] != b"upgrade"]
    return b"\r\n".join((*lines, b"", b""))
