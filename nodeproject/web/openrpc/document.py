"""The OpenRPC document: of one interface, which its `rpc.discover` returns, and of all of them together.

Unspecified: OpenRPC tools call the methods of a document at the address where they found the document. So an
interface only lists its own methods; the document of the whole node also names the servers of each method.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any, Final

import msgspec

from nodeproject.web.openrpc import results_evm, results_platform, schemas
from nodeproject.web.openrpc.entries import MethodEntry, MethodParameter
from nodeproject.web.openrpc.interface import RpcInterface, ServerPath
from nodeproject.web.openrpc.schemas import WHERE, Schema
from primitives.product import NAME, VERSION

OPENRPC: Final = "1.3.2"

COMPONENTS: Final[Mapping[str, Schema]] = {
    **schemas.COMPONENTS,
    **results_evm.COMPONENTS,
    **results_platform.COMPONENTS,
}
"""Schemas by the names under which others refer to them."""

Json = dict[str, Any]


def examples() -> Mapping[str, Mapping[str, Any]]:
    """Return an example of each method: its params, and the result or the error."""
    text = files("nodeproject.web.openrpc").joinpath("examples.json").read_text()
    found: Mapping[str, Mapping[str, Any]] = json.loads(text)["examples"]
    return found


def document_of(interface: RpcInterface) -> bytes:
    """Return the document of an interface's methods as JSON."""
    methods = map(_method, interface.entries)
    return msgspec.json.encode(_document(interface.title, _servers(interface.servers), methods))


def whole(interfaces: Iterable[RpcInterface], base: str = "") -> bytes:
    """Return the document of all methods of a node as JSON; each method names its servers.

    Args:
        interfaces: The interfaces of the node.
        base: The base path, which is put before the servers' paths.
    """
    known = tuple(interfaces)
    methods = (
        {**_method(entry), "servers": _servers(servers_of(entry, other), base)}
        for other in known
        for entry in other.entries
    )
    servers = [server for item in known for server in item.servers]
    return msgspec.json.encode(_document(NAME, _servers(servers, base), methods))


def servers_of(entry: MethodEntry, interface: RpcInterface) -> tuple[ServerPath, ...]:
    """Return the servers of a method; for a method that needs a WebSocket only the WebSocket ones."""
    return tuple(
        server for server in interface.servers if server.is_socket or not entry.needs_socket
    )


def _servers(servers: Iterable[ServerPath], base: str = "") -> list[Json]:
    return [{"name": server.name, "url": base + server.path} for server in servers]


def _document(title: str, servers: list[Json], methods: Iterable[Json]) -> Json:
    listed = list(methods)
    return {
        "openrpc": OPENRPC,
        "info": {"title": title, "version": VERSION, "license": {"name": "MIT"}},
        "servers": servers,
        "methods": listed,
        "components": {"schemas": _referred_to(listed)},
    }


def _referred_to(methods: list[Json]) -> Json:
    """Return the components that methods refer to, directly or through other components."""
    found: Json = {}
    waiting = list(_references(methods))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = COMPONENTS[name]
            waiting.extend(_references(found[name]))
    return dict(sorted(found.items()))


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            if name == "$ref" and isinstance(member, str):
                yield member.removeprefix(WHERE)
            else:
                yield from _references(member)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _references(item)


def _method(entry: MethodEntry) -> Json:
    shown: Json = {
        "name": entry.name,
        "summary": entry.summary,
        "tags": [{"name": entry.namespace}],
        "paramStructure": "by-name" if entry.by_name else "by-position",
        "params": [_parameter(argument) for argument in entry.arguments],
        "result": {"name": "result", "schema": entry.result},
        "errors": _errors(entry),
    }
    if entry.description:
        shown["description"] = entry.description
    if entry.example.error is None:  # OpenRPC has no examples without a result
        shown["examples"] = [_example(entry)]
    return shown


def _parameter(argument: MethodParameter) -> Json:
    return {
        "name": argument.name,
        "required": argument.required,
        "schema": argument.schema,
    }


def _errors(entry: MethodEntry) -> list[Json]:
    """Return a method's errors, with each code only once as OpenRPC requires."""
    texts: dict[int, list[str]] = {}
    for fault in entry.faults:
        texts.setdefault(fault.code, []).append(fault.text)
    return [{"code": code, "message": "; ".join(said)} for code, said in texts.items()]


def _example(entry: MethodEntry) -> Json:
    given = entry.example.params
    values = (
        given.items()
        if isinstance(given, Mapping)
        else zip((argument.name for argument in entry.arguments), given, strict=False)
    )
    return {
        "name": entry.name,
        "params": [{"name": name, "value": value} for name, value in values],
        "result": {"name": "result", "value": entry.example.result},
    }
