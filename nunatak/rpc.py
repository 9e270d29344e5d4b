"""JSON-RPC over HTTP with the standard library alone: what fixtures need before a client library is chosen."""

import json
import urllib.error
import urllib.request
from http import HTTPStatus
from typing import Any

SECONDS = 60.0
"""Until a call is given up."""


class RpcError(Exception):
    """The node answered with an error."""

    def __init__(self, method: str, code: int, message: str, data: object = None) -> None:
        super().__init__(f"{method}: {message} ({code})")
        self.method = method
        self.code = code
        self.message = message
        self.data = data


class Unreachable(Exception):
    """Nobody answers there, or with something else than JSON-RPC."""


def call(url: str, method: str, *params: object, seconds: float = SECONDS) -> Any:
    """Call a method and return its result.

    Args:
        url: Where the node answers JSON-RPC over HTTP.
        method: The method's name.
        params: Its parameters, as JSON has them.
        seconds: Until the call is given up.

    Raises:
        RpcError: The node answered with an error.
        Unreachable: It did not answer.
    """
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    request = urllib.request.Request(  # noqa: S310  # whoever names the URL has the right to
        url, body.encode(), {"Content-Type": "application/json"}
    )
    try:
        answer = json.loads(_answer(request, seconds))
        error = answer.get("error")
        if error is None:
            return answer["result"]
        failure = RpcError(method, error["code"], error["message"], error.get("data"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as reason:
        raise Unreachable(f"no answer to {method} from {url}: {reason}") from reason
    raise failure


def _answer(request: urllib.request.Request, seconds: float) -> bytes:
    """Return the body of an answer; some nodes send errors of JSON-RPC with an HTTP status of errors."""
    try:
        with urllib.request.urlopen(request, timeout=seconds) as response:  # noqa: S310  # as above
            return bytes(response.read())
    except urllib.error.HTTPError as refused:
        with refused:
            if refused.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            return refused.read()
