"""The code table of JSON-RPC, and the one exception that becomes an error object.

The chain that raises a domain error determines its code (`registry.MethodRegistry`).

    JsonRpcError            an error object for the client
    InvalidParam            an argument could not be read (its position is added later)
    RegistrationError       a method was registered in a way that cannot work
    Overloaded              too many calls wait for a worker
    TooManyConnections      the process has as many sockets as allowed
"""

from typing import Final

from typing_extensions import override

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
SERVER_ERROR: Final = -32000
NOT_FOUND: Final = -32001
TIMED_OUT: Final = -32002
TOO_LARGE: Final = -32003
LIMIT_EXCEEDED: Final = -32005
REVERTED: Final = 3


class _NoData:
    """The type of `NO_DATA`: an error object without a `data` member, which is not `null`."""

    @override
    def __repr__(self) -> str:
        return "NO_DATA"


NO_DATA: Final = _NoData()


class JsonRpcError(Exception):
    """An error object: `code`, `message` and, unless it is `NO_DATA`, `data` (any JSON value)."""

    def __init__(self, code: int, message: str, data: object = NO_DATA) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data = data


class InvalidParam(Exception):
    """An argument could not be read; `text` gives the reason, the dialect adds the position."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class RegistrationError(Exception):
    """A method was registered twice, or with options that exclude each other."""


class Overloaded(Exception):
    """Every worker is busy and as many calls as allowed are waiting already."""


class TooManyConnections(Exception):
    """This process has as many sockets as allowed."""


class ServiceEnded(Exception):
    """The service of a socket has ended; the message says why."""


def parse_error(reason: str = "") -> JsonRpcError:
    """Return the error for a body that is not JSON; `reason` is added if it is more than a syntax error."""
    return JsonRpcError(PARSE_ERROR, f"parse error: {reason}" if reason else "parse error")


def invalid_request(text: str = "invalid request") -> JsonRpcError:
    """Return the error for a body that is JSON but not a request."""
    return JsonRpcError(INVALID_REQUEST, text)


def invalid_params(text: str) -> JsonRpcError:
    """Return the error for arguments that do not fit the method."""
    return JsonRpcError(INVALID_PARAMS, text)


def handler_crashed() -> JsonRpcError:
    """Return the error for an unexpected failure of a method; its details are only logged."""
    return JsonRpcError(INTERNAL_ERROR, "method handler crashed")


def unavailable(reason: str) -> JsonRpcError:
    """Return the error for an unavailable database or server; `words` gives the reason.

    The database may be busy or full, or a server that the method needs does not answer.
    Unspecified: the code is geth's for failures without a code of their own.
    """
    return JsonRpcError(SERVER_ERROR, reason)


def notifications_not_supported() -> JsonRpcError:
    """Return the error for a subscription over a transport that cannot send anything later."""
    return JsonRpcError(METHOD_NOT_FOUND, "notifications not supported")


def request_timed_out() -> JsonRpcError:
    """Return the error for a call that was not done within the time limit."""
    return JsonRpcError(TIMED_OUT, "request timed out")


def response_too_large() -> JsonRpcError:
    """Return the error for a call of a batch whose earlier answers have reached the size limit."""
    return JsonRpcError(TOO_LARGE, "response too large")


def rate_limit_exceeded() -> JsonRpcError:
    """Return the error for a client beyond its rate limit."""
    return JsonRpcError(LIMIT_EXCEEDED, "rate limit exceeded")


def server_busy() -> JsonRpcError:
    """Return the error for too many waiting calls.

    Unspecified: geth has no such limit. The code is that of the rate limit, since clients that know it
    wait and try again.
    """
    return JsonRpcError(LIMIT_EXCEEDED, "server is busy")
