"""JSON-RPC over HTTP with only the standard library, for fixtures that must not depend on a client library."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

SECONDS = 60.0
"""Default timeout of a call."""


_WITHOUT_JSON = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
"""Statuses of refusals before the call is read."""


class RpcError(Exception):
    """The node answered with an error."""

    def __init__(self, method: str, code: int, message: str, data: object = None) -> None:
        super().__init__(f"{method}: {message} ({code})")
        self.method = method
        self.code = code
        self.message = message
        self.data = data


class Unreachable(Exception):
    """The node does not answer, or the answer is not JSON-RPC."""


class NotListening(Unreachable):
    """No process listens at the node's address: the connection is refused."""


def call(
    url: str,
    method: str,
    *params: object,
    seconds: float = SECONDS,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Any:
    """Call a method and return its result.

    Args:
        url: URL of the node's JSON-RPC interface over HTTP.
        method: The method's name.
        params: Its parameters, as JSON values.
        seconds: Timeout of the call.
        headers: Further headers, such as those of `Node.headers`.

    Raises:
        RpcError: The node answered with an error.
        NotListening: The connection was refused.
        Unreachable: The node did not answer.
    """
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    request = urllib.request.Request(  # noqa: S310  # the caller chooses the URL
        url, body.encode(), {"Content-Type": "application/json", **headers}
    )
    try:
        answer = json.loads(_answer(request, seconds))
        error = answer.get("error")
        if error is None:
            return answer["result"]
        failure = RpcError(method, error["code"], error["message"], error.get("data"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as reason:
        is_refused = isinstance(getattr(reason, "reason", reason), ConnectionRefusedError)
        kind = NotListening if is_refused else Unreachable
        raise kind(f"no answer to {method} from {url}: {reason}") from reason
    raise failure


def _answer(request: urllib.request.Request, seconds: float) -> bytes:
    """Return the body of an answer; some nodes send JSON-RPC errors with an HTTP error status."""
    try:
        with urllib.request.urlopen(request, timeout=seconds) as response:  # noqa: S310  # as above
            return bytes(response.read())
    except urllib.error.HTTPError as refused:
        with refused:
            if refused.code >= HTTPStatus.INTERNAL_SERVER_ERROR or refused.code in _WITHOUT_JSON:
                raise
            return refused.read()
