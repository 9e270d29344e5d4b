"""The dialect of avalanchego's JSON-RPC server: gorilla's json2 codec with the reference's own rules.

A body has one call, params are by name, and every error of a method has code -32000 (pchain.md 8.1).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from jsonrpc import errors
from jsonrpc.dispatch import envelope
from jsonrpc.dispatch.envelope import Raw, RpcCall
from jsonrpc.dispatch.params import Param, bind_named, unreadable_argument
from jsonrpc.errors import JsonRpcError

_SPACE: Final = b" \t\r\n"
_TRAILING: Final = re.compile(r"trailing characters \(byte (\d+)\)")
"""Matches the decoder's error for data after the first value; its byte position counts from 1."""

_LONGEST_ECHO: Final = 16_384
"""Bytes of the longest id, and of the rest of a request, that errors echo; escaping can make them six times as long."""

_MAX_COLONS: Final = 64
"""Maximal colons of a request whose names are matched in any case, because each member is decoded for that."""

_NAMES: Final = ("jsonrpc", "method", "id", "params")
_KINDS: Final = {b'"': "string", b"[": "array", b"{": "object", b"t": "bool", b"f": "bool"}


class _UnfitCall(RpcCall, gc=False):
    """A request object with a member of another type, whose other members the error shows."""

    problem: str = ""


_values: Final = msgspec.json.Decoder()
_any_members: Final = msgspec.json.Decoder(dict[str, Raw])
_encode: Final = msgspec.json.Encoder().encode


class Gorilla:
    """avalanchego's server.

    Unspecified: a batch is not a request object and gets a parse error, as in the reference. An id longer than
    the limit makes a request invalid, and errors do not show long requests. Names of members match in any case,
    as in Go, unless a request has very many members. If two names differ only in case, the one in lower case
    counts, and of several equal names the last one.
    """

    probes: Final = False
    content_types: Final = frozenset({b"application/json"})
    headers: Final = (
        (b"content-type", b"application/json; charset=utf-8"),
        (b"x-content-type-options", b"nosniff"),
    )

    def read(self, body: bytes, _maximum: int = 1, /) -> RpcCall | list[RpcCall]:
        """Read the first JSON value of a body: one call.

        A version or a method of another type than a string makes a call that `invalid_call` refuses.

        Raises:
            JsonRpcError: -32700, it is not a request object; the error's data shows an empty one.
        """
        first = body.lstrip(_SPACE)[:1]
        if first == b"[":
            raise _parse_error(_unfit("array", "value"))
        try:
            call, text = _read_first(body)
            if _lacks_member(call, text):
                text = _in_lower_case(text)
                call = _read_object(text)
        except JsonRpcError as error:
            raise _parse_error(_words_of(error, first)) from error
        if first not in {b"{", b"n"}:
            raise _parse_error(_unfit(_kind(first), "value"))
        return call if call.method else _read_members(text)

    def identifier(self, call: RpcCall) -> bytes | None:
        """Return the id to echo, of any JSON type; empty if missing or null; None if it is too long."""
        identifier = bytes(call.id)
        if len(identifier) > _LONGEST_ECHO:
            return None
        return b"" if identifier == envelope.NULL else identifier

    def is_notification(self, call: RpcCall) -> bool:
        """Return whether a call gets no answer: without an id only a parse error is answered."""
        return self.identifier(call) == b"" and not isinstance(call, _UnfitCall)

    def bind(self, params: Sequence[Param], raw: Raw) -> Sequence[Any]:
        """Return arguments from a JSON object, or from an array that begins with one.

        Raises:
            JsonRpcError: -32000, with avalanchego's message.
        """
        if not raw:
            return bind_named(params, {})
        try:
            members = _values.decode(raw)
        except (msgspec.DecodeError, ValueError) as error:
            raise unreadable_argument() from error
        if isinstance(members, list):
            members = members[0] if members else None
        if members is None:
            members = {}
        if not isinstance(members, dict):
            raise unreadable_argument()
        return bind_named(params, members)

    def invalid_call(self, call: RpcCall) -> JsonRpcError:
        """Return the error for a member of another type, for another version, or for a request without a method."""
        if isinstance(call, _UnfitCall):
            return JsonRpcError(errors.PARSE_ERROR, call.problem, _request_object(call))
        if call.jsonrpc == "2.0":
            return _ill_formed("")
        text = "jsonrpc must be 2.0"
        return JsonRpcError(errors.INVALID_REQUEST, text, _request_object(call))

    def unknown_method(self, name: str, methods: Mapping[str, object]) -> JsonRpcError:
        """Return the error of gorilla's registry, which shows services and methods with their Go names."""
        service, dot, method = name.partition(".")
        if dot and method[:1] != method[:1].lower():
            return _server_error("method must start with a non-uppercase letter")
        full_name = service + dot + method[:1].upper() + method[1:]
        if full_name.count(".") != 1:
            return _ill_formed(full_name)
        missing = (
            "method" if any(other.startswith(service + dot) for other in methods) else "service"
        )
        return _server_error(f"rpc: can't find {missing} {_quoted(full_name)}")

    def success(self, identifier: bytes, result: bytes) -> bytes:
        """Return an answer with a result; it has no `error` member, not even null."""
        return _escaped(b'{"jsonrpc":"2.0","result":%b,"id":%b}\n' % (result, identifier))

    def failure(self, identifier: bytes, error: JsonRpcError) -> bytes:
        """Return an answer with an error; `data` is always present, and null if the error has no data."""
        data = None if error.data is errors.NO_DATA else error.data
        body = _encode({"code": error.code, "message": error.message, "data": data})
        return _escaped(b'{"jsonrpc":"2.0","error":%b,"id":%b}\n' % (body, identifier))

    def wrong_http_method(self, method: str) -> str:
        """Return the text of a 405."""
        return f"rpc: POST method required, received {method}"

    def wrong_content_type(self, content_type: str) -> str:
        """Return the text of a 415; parameters of the type are not shown."""
        return f"rpc: unrecognized Content-Type: {content_type.partition(';')[0]}"


def _read_first(body: bytes) -> tuple[RpcCall, bytes]:
    """Read the first value of a body, and return its text too; the rest of the body is ignored."""
    try:
        return _read_object(body), body
    except JsonRpcError as error:
        match = _TRAILING.search(str(error.__cause__))
        if match is None:
            raise
        text = body[: int(match[1]) - 1]
        return _read_object(text), text


def _read_object(text: bytes) -> RpcCall:
    call = envelope.read(text)
    assert isinstance(call, RpcCall), "arrays are refused before"
    return call


def _lacks_member(call: RpcCall, text: bytes) -> bool:
    """Return whether a call may have a member whose name was not matched because of its case."""
    if text.count(b":") > _MAX_COLONS:
        return False
    if not (call.jsonrpc and call.method and call.id):
        return True
    return not call.params and b"params" in text.lower()


def _in_lower_case(text: bytes) -> bytes:
    """Return a request object with the names of its members in lower case; anything else unchanged."""
    try:
        members = _any_members.decode(text)
    except msgspec.DecodeError:
        return text
    lower = {name.casefold(): value for name, value in members.items()}
    return _encode({name: members.get(name, lower[name]) for name in lower if name in _NAMES})


def _words_of(error: JsonRpcError, first: bytes) -> str:
    """Return the decoder's error message for a body; for a truncated one that of Go."""
    if not isinstance(error.__cause__, msgspec.DecodeError):
        return error.message
    text = str(error.__cause__)
    if "truncated" in text:
        return "unexpected EOF" if first else "EOF"
    return text


def _read_members(text: bytes) -> RpcCall:
    """Read a request object without a method, or with members of other types: as in Go null is no value."""
    try:
        members = _any_members.decode(text)
    except msgspec.DecodeError:
        return RpcCall()  # null
    strings, problem = {"jsonrpc": "", "method": ""}, ""
    for name, raw in members.items():
        value = bytes(raw)
        if name in strings and value.startswith(b'"'):
            strings[name] = _values.decode(value)
        elif name in strings and value != envelope.NULL:
            problem = problem or _unfit(_kind(value[:1]), f"struct field serverRequest.{name}")
    identifier, params = (members.get(name, Raw()) for name in ("id", "params"))
    version, method = strings["jsonrpc"], strings["method"]
    if problem:
        return _UnfitCall(version, method, identifier, params, problem)
    return RpcCall(version, method, identifier, params)


def _unfit(kind: str, place: str) -> str:
    go_type = "json2.serverRequest" if place == "value" else "string"
    return f"json: cannot unmarshal {kind} into Go {place} of type {go_type}"


def _kind(first: bytes) -> str:
    return _KINDS.get(first, "number")


def _parse_error(text: str) -> JsonRpcError:
    return JsonRpcError(errors.PARSE_ERROR, text, _request_object(RpcCall()))


def _request_object(call: RpcCall) -> dict[str, object]:
    """Return a request as shown in the data of errors; a long one as if it were empty."""
    if len(call.jsonrpc) + len(call.method) + len(bytes(call.params)) > _LONGEST_ECHO:
        call = RpcCall(id=call.id)
    null = Raw(envelope.NULL)
    return {
        "jsonrpc": call.jsonrpc,
        "method": call.method,
        "params": call.params or null,
        "id": call.id or null,
    }


def _ill_formed(name: str) -> JsonRpcError:
    return _server_error(f"rpc: service/method request ill-formed: {_quoted(name)}")


def _server_error(text: str) -> JsonRpcError:
    return JsonRpcError(errors.SERVER_ERROR, text)


def _quoted(text: str) -> str:
    return _encode(text).decode()


def _escaped(text: bytes) -> bytes:
    r"""Write `<`, `>` and `&` as \u003c, \u003e and \u0026; in JSON they occur only inside strings."""
    for sign, escape in ((b"<", rb"\u003c"), (b">", rb"\u003e"), (b"&", rb"\u0026")):
        if sign in text:
            text = text.replace(sign, escape)
    return text


GORILLA: Final = Gorilla()
