"""Two families of JSON-RPC servers and their exact words: geth's and avalanchego's (gorilla).

A dialect binds params, words the errors of the wire and renders answers. Both are served by the
same dispatcher; nothing else differs between an `eth_` and a `platform.` interface.
"""

from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec

from jsonrpc import errors
from jsonrpc.envelope import Raw
from jsonrpc.errors import JsonRpcError
from jsonrpc.params import Param, bind_named, bind_positional

_values: Final = msgspec.json.Decoder()
_raw_values: Final = msgspec.json.Decoder(list[Raw])
_encode: Final = msgspec.json.Encoder().encode


class Dialect(Protocol):
    """What differs between the two families."""

    @property
    def probes(self) -> bool:
        """Whether a GET without query is answered with 200, for load balancers."""

    def bind(self, params: Sequence[Param], raw: Raw) -> Sequence[Any]:
        """Arguments from the raw `params` member, which is empty if there was none."""

    def unknown_method(self, name: str) -> JsonRpcError:
        """The words for a method that is not in the registry."""

    def success(self, identifier: bytes, result: bytes) -> bytes:
        """An answer with a result that is encoded already."""

    def failure(self, identifier: bytes, error: JsonRpcError) -> bytes:
        """An answer with an error object."""

    def wrong_http_method(self, method: str) -> str:
        """The text of a 405."""

    def wrong_content_type(self, content_type: str) -> str:
        """The text of a 415."""


class Geth:
    """go-ethereum's server: positional params, an object is refused."""

    probes: Final = True

    def bind(self, params: Sequence[Param], raw: Raw) -> Sequence[Any]:
        """Arguments from a JSON array; absent, null and `[]` are the same.

        Raises:
            JsonRpcError: -32602, in geth's words.
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

    def unknown_method(self, name: str) -> JsonRpcError:
        """The text that client libraries look for."""
        text = f"the method {name} does not exist/is not available"
        return JsonRpcError(errors.METHOD_NOT_FOUND, text)

    def success(self, identifier: bytes, result: bytes) -> bytes:
        """An answer with a result."""
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (identifier, result)

    def failure(self, identifier: bytes, error: JsonRpcError) -> bytes:
        """An answer with an error; `data` only where there is some."""
        body: dict[str, object] = {"code": error.code, "message": error.message}
        if error.data is not errors.NO_DATA:
            body["data"] = error.data
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (identifier, _encode(body))

    def wrong_http_method(self, method: str) -> str:
        """The text of a 405."""
        return "method not allowed"

    def wrong_content_type(self, content_type: str) -> str:
        """The text of a 415."""
        return "invalid content type, only application/json is supported"


class Gorilla:
    """avalanchego's server: params by name, and every error of a method has code -32000.

    Unspecified: batches and positional params of other servers are not part of this family; here
    a batch is answered as any server would, and an array holds at most the one object.
    """

    probes: Final = False

    def bind(self, params: Sequence[Param], raw: Raw) -> Sequence[Any]:
        """Arguments from a JSON object, or from an array with one object in it.

        Raises:
            JsonRpcError: -32000, in avalanchego's words.
        """
        if not raw:
            return bind_named(params, {})
        try:
            members = _values.decode(raw)
        except msgspec.DecodeError as error:
            raise _unreadable("number out of range") from error
        if isinstance(members, list) and len(members) <= 1:
            members = members[0] if members else None
        if members is None:
            members = {}
        if not isinstance(members, dict):
            raise _unreadable("params must be an object")
        return bind_named(params, members)

    def unknown_method(self, name: str) -> JsonRpcError:
        """The words of gorilla's registry."""
        return JsonRpcError(errors.SERVER_ERROR, f'rpc: can\'t find method "{name}"')

    def success(self, identifier: bytes, result: bytes) -> bytes:
        """An answer with a result; never an `error` member, not even null."""
        return b'{"jsonrpc":"2.0","result":%b,"id":%b}' % (result, identifier)

    def failure(self, identifier: bytes, error: JsonRpcError) -> bytes:
        """An answer with an error; `data` is always there, and null when there is none."""
        data = None if error.data is errors.NO_DATA else error.data
        body = _encode({"code": error.code, "message": error.message, "data": data})
        return b'{"jsonrpc":"2.0","error":%b,"id":%b}' % (body, identifier)

    def wrong_http_method(self, method: str) -> str:
        """The text of a 405."""
        return f"rpc: POST method required, received {method}"

    def wrong_content_type(self, content_type: str) -> str:
        """The text of a 415."""
        return f"rpc: unrecognized Content-Type: {content_type}"


GETH: Final = Geth()
GORILLA: Final = Gorilla()


def _out_of_range(raw: Raw) -> JsonRpcError:
    """Name the argument that holds a number which no machine number can hold."""
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


def _unreadable(reason: str) -> JsonRpcError:
    return JsonRpcError(errors.SERVER_ERROR, f"couldn't unmarshal an argument. {reason}")
