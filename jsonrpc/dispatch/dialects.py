"""Two families of JSON-RPC servers and their exact messages: geth's and avalanchego's (gorilla).

A dialect reads bodies, binds params, words protocol errors and renders answers. Both are served by the same
dispatcher; there is no other difference between an `eth_` and a `platform.` interface.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from jsonrpc import errors
from jsonrpc.dispatch import envelope
from jsonrpc.dispatch.envelope import Raw, RpcCall
from jsonrpc.dispatch.gorilla import GORILLA
from jsonrpc.dispatch.params import Param, bind_positional
from jsonrpc.errors import JsonRpcError

_values: Final = msgspec.json.Decoder()
_raw_values: Final = msgspec.json.Decoder(list[Raw])
_encode: Final = msgspec.json.Encoder().encode


class Geth:
    """go-ethereum's server: positional params; an object is an error."""

    probes: Final = True
    content_types: Final = frozenset(
        {b"application/json", b"application/json-rpc", b"application/jsonrequest"}
    )
    headers: Final = ((b"content-type", b"application/json"),)

    # Aliases instead of methods, because each call goes through these two.
    read = staticmethod(envelope.read)
    identifier = staticmethod(envelope.valid_id)

    def is_notification(self, call: RpcCall) -> bool:
        """Return whether a call gets no answer: it is a valid call without an id."""
        return not bytes(call.id) and call.jsonrpc == "2.0" and bool(call.method)

    def bind(self, params: Sequence[Param], raw: Raw) -> Sequence[Any]:
        """Return arguments from a JSON array; absent, null and `[]` are the same.

        Raises:
            JsonRpcError: -32602, with geth's message.
        """
        values = None
        if raw:
            try:
                values = _values.decode(raw)
            except msgspec.DecodeError as error:
                raise _out_of_range(raw) from error
        if type(values) is not list:
            if values is not None:
                raise errors.invalid_params("non-array args")
            values = []
        return bind_positional(params, values)

    def invalid_call(self, _call: RpcCall) -> JsonRpcError:
        """Return the error for a request without a method, or of another version."""
        return errors.invalid_request()

    def unknown_method(self, name: str, _known: Mapping[str, object]) -> JsonRpcError:
        """Return the error for an unknown method, with the text that client libraries look for."""
        text = f"the method {name} does not exist/is not available"
        return JsonRpcError(errors.METHOD_NOT_FOUND, text)

    def success(self, identifier: bytes, result: bytes) -> bytes:
        """Return an answer with a result."""
        # Joined, because formatting copies a long result several times.
        return b"".join((b'{"jsonrpc":"2.0","id":', identifier, b',"result":', result, b"}"))

    def failure(self, identifier: bytes, error: JsonRpcError) -> bytes:
        """Return an answer with an error; `data` is present only if there is any."""
        body: dict[str, object] = {"code": error.code, "message": error.message}
        if error.data is not errors.NO_DATA:
            body["data"] = error.data
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (identifier, _encode(body))

    def wrong_http_method(self, _method: str) -> str:
        """Return the text of a 405."""
        return "method not allowed"

    def wrong_content_type(self, _content_type: str) -> str:
        """Return the text of a 415."""
        return "invalid content type, only application/json is supported"


def _out_of_range(raw: Raw) -> JsonRpcError:
    """Return an error that names the argument with a number out of range."""
    if not bytes(raw).startswith(b"["):
        return errors.invalid_params("non-array args")
    readable = map(_is_readable, _raw_values.decode(raw))
    place = next(place for place, fine in enumerate(readable) if not fine)
    return errors.invalid_params(f"invalid argument {place}: number out of range")


def _is_readable(value: Raw) -> bool:
    try:
        _values.decode(value)
    except msgspec.DecodeError:
        return False
    return True


GETH: Final = Geth()


__all__ = ["GETH", "GORILLA", "Dialect"]


class Dialect(Protocol):
    """The differences between the two families."""

    @property
    def probes(self) -> bool:
        """Whether a GET without query is answered with 200, for load balancers."""

    @property
    def content_types(self) -> frozenset[bytes]:
        """The accepted content types of bodies."""

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """Headers of every JSON answer."""

    def read(self, body: bytes, maximum: int, /) -> RpcCall | list[RpcCall]:
        """Read a body: one call, or several, of which at most `maximum` are needed.

        Raises a `JsonRpcError` for anything else.
        """

    def identifier(self, call: RpcCall) -> bytes | None:
        """Return the id to echo as JSON text, empty if there is no id; None for an invalid one."""

    def is_notification(self, call: RpcCall) -> bool:
        """Return whether a call gets no answer, whatever its outcome."""

    def bind(self, params: Sequence[Param], raw: Raw) -> Sequence[Any]:
        """Return arguments from the raw `params` member, which is empty if it is missing."""

    def invalid_call(self, call: RpcCall) -> JsonRpcError:
        """Return the error for a request of another version, or without a method."""

    def unknown_method(self, name: str, methods: Mapping[str, object]) -> JsonRpcError:
        """Return the error for a method that is not among the known ones."""

    def success(self, identifier: bytes, result: bytes) -> bytes:
        """Return an answer with an already encoded result."""

    def failure(self, identifier: bytes, error: JsonRpcError) -> bytes:
        """Return an answer with an error object."""

    def wrong_http_method(self, method: str) -> str:
        """Return the text of a 405."""

    def wrong_content_type(self, content_type: str) -> str:
        """Return the text of a 415."""
