"""The page of the reference: every method by interface and namespace, each with its example and a form to try it.

The page is rendered once, and readable without a script. The script filters methods, opens the target of a link,
and sends trial calls to the node that served the page. A JSON Schema is shown as a line, and below it the members of an
object; names link to their types.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Final, NamedTuple

from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from nodeproject.settings.theme import FAVICON
from nodeproject.web.openrpc.document import COMPONENTS, servers_of
from nodeproject.web.openrpc.entries import MethodEntry, MethodError, MethodParameter
from nodeproject.web.openrpc.interface import RpcInterface
from nodeproject.web.openrpc.reference import BASE
from nodeproject.web.openrpc.schemas import WHERE, Schema
from primitives.product import NAME, VERSION

NOTHING: Final = SafeString("")
_OR: Final = SafeString(" or ")


def schema_html(schema: Schema) -> SafeString:
    """Return a schema as HTML."""
    return _line(schema) + _note(schema) + _members(schema)


def _line(schema: Schema) -> SafeString:
    """Return a short description of the kind of value."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(WHERE)
        return format_html('<a href="#{}">{}</a>', name, name)
    if "allOf" in schema:
        return _line(schema["allOf"][0])
    if "anyOf" in schema:
        return _joined(_line(item) for item in schema["anyOf"])
    if "const" in schema:
        return _code(schema["const"])
    if "enum" in schema:
        return _joined(map(_code, schema["enum"]))
    return _typed(schema)


def _typed(schema: Schema) -> SafeString:
    kind = schema.get("type")
    if kind is None:
        return SafeString("anything")
    if isinstance(kind, list):
        return conditional_escape(" or ".join(kind))
    if kind == "array":
        return _array(schema)
    if kind == "object" and _is_map(schema):
        return SafeString("object, each member ") + _line(schema["additionalProperties"])
    return conditional_escape(kind)


def _array(schema: Schema) -> SafeString:
    items = schema.get("items", {})
    if isinstance(items, list):
        return format_html(
            "array: {}", format_html_join(", ", "{}", ((_line(item),) for item in items))
        )
    several = len(items.get("anyOf", items.get("enum", ()))) > 1
    return format_html("array of ({})" if several else "array of {}", _line(items))


def _is_map(schema: Schema) -> bool:
    return isinstance(schema.get("additionalProperties"), Mapping) and "properties" not in schema


def _note(schema: Schema) -> SafeString:
    notes = [schema["description"]] if "description" in schema else []
    if schema.get("default") is not None:
        notes.append(_default(schema["default"]))
    if not notes:
        return NOTHING
    return format_html(' <span class="note">{}</span>', "; ".join(notes))


def _default(value: Any) -> str:
    return f"default: {value if isinstance(value, str) else json.dumps(value)}"


def _members(schema: Schema) -> SafeString:
    """Return the members of the objects that a value consists of or contains as elements."""
    return format_html_join("", "{}", ((_listed(item),) for item in _objects(schema)))


def _objects(schema: Schema) -> Iterator[Schema]:
    """Yield the objects whose members are listed below a line."""
    if schema.get("properties"):
        yield schema
        return
    for item in (*schema.get("allOf", ()), *schema.get("anyOf", ())):
        yield from _objects(item)
    items = schema.get("items")
    for other in items if isinstance(items, list) else [items]:
        if isinstance(other, Mapping):
            yield from _objects(other)
    if _is_map(schema):
        yield from _objects(schema["additionalProperties"])


def _listed(schema: Schema) -> SafeString:
    required = schema.get("required")
    rows = (
        (name, "" if required is None or name in required else "?", schema_html(member))
        for name, member in schema["properties"].items()
    )
    listed = format_html_join("", '<li><code>{}</code><span class="note">{}</span>: {}</li>', rows)
    return format_html('<ul class="members">{}</ul>', listed)


def _joined(parts: Iterator[SafeString]) -> SafeString:
    return format_html_join(_OR, "{}", ((fromkey,) for fromkey in dict.fromkeys(parts)))


def _code(value: Any) -> SafeString:
    return format_html("<code>{}</code>", json.dumps(value))


def paragraphs(text: str) -> SafeString:
    """Return the paragraphs of a description, with text between backticks as code."""
    return format_html_join(
        "", "<p>{}</p>", ((inline(part),) for part in text.split("\n\n") if part)
    )


def inline(text: str) -> SafeString:
    """Return a sentence, with text between backticks as code."""
    parts = [
        format_html("<code>{}</code>", part) if place % 2 else conditional_escape(part)
        for place, part in enumerate(text.split("`"))
    ]
    return mark_safe("".join(parts))  # noqa: S308  # each part is escaped


class ShownArgument(NamedTuple):
    """A parameter as the page shows it."""

    name: str
    required: bool
    schema: SafeString


class ShownMethod(NamedTuple):
    """A method as the page shows it."""

    name: str
    summary: SafeString
    description: SafeString
    arguments: list[ShownArgument]
    by_name: bool
    result: SafeString
    faults: tuple[MethodError, ...]
    path: str
    """The path of its interface."""
    needs_socket: bool
    changes: bool
    request: str
    """The example's call as JSON, escaped for single quotes of a shell."""
    params: str
    """The example's params, with which the form is filled."""
    answer: str
    """The example's result or error object."""


class Namespace(NamedTuple):
    """Methods of an interface with a common prefix."""

    name: str
    methods: list[ShownMethod]


class ShownInterface(NamedTuple):
    """An interface as the page shows it."""

    title: str
    paths: list[str]
    namespaces: list[Namespace]


def context_of(interfaces: Iterable[RpcInterface], address: str) -> dict[str, Any]:
    """Return the context of the page's template.

    Args:
        interfaces: The interfaces of the node.
        address: The base of the node's URLs, for browsers without scripts.
    """
    shown = [_interface(interface) for interface in interfaces]
    return {
        "name": NAME,
        "version": VERSION,
        "favicon": FAVICON,
        "address": address,
        "base": BASE,
        "interfaces": shown,
        "count": sum(len(space.methods) for item in shown for space in item.namespaces),
        "types": [(name, schema_html(schema)) for name, schema in sorted(COMPONENTS.items())],
    }


def _interface(interface: RpcInterface) -> ShownInterface:
    methods = [_method(entry, interface) for entry in interface.entries]
    return ShownInterface(
        interface.title,
        [server.path for server in interface.servers],
        list(_namespaces(interface, methods)),
    )


def _namespaces(interface: RpcInterface, methods: list[ShownMethod]) -> Iterator[Namespace]:
    """Yield the methods by namespace, in the order of the namespaces' first methods in the table."""
    spaces = list(dict.fromkeys(entry.namespace for entry in interface.entries))
    placed = zip(
        (spaces.index(entry.namespace) for entry in interface.entries), methods, strict=True
    )
    ordered = sorted(placed, key=lambda pair: pair[0])
    for place, pairs in groupby(ordered, key=lambda pair: pair[0]):
        yield Namespace(spaces[place], [method for _, method in pairs])


def _method(entry: MethodEntry, interface: RpcInterface) -> ShownMethod:
    example = entry.example
    call = {"jsonrpc": "2.0", "id": 1, "method": entry.name, "params": example.params}
    answer = example.result if example.error is None else {"error": example.error}
    return ShownMethod(
        name=entry.name,
        summary=inline(entry.summary),
        description=paragraphs(entry.description),
        arguments=[_argument(argument) for argument in entry.arguments],
        by_name=entry.by_name,
        result=schema_html(entry.result),
        faults=entry.faults,
        path=servers_of(entry, interface)[0].path,
        needs_socket=entry.needs_socket,
        changes=example.changes,
        request=json.dumps(call, separators=(",", ":")).replace("'", "'\\''"),
        params=json.dumps(example.params, indent=2),
        answer=json.dumps(answer, indent=2, ensure_ascii=False),
    )


def _argument(parameter: MethodParameter) -> ShownArgument:
    return ShownArgument(parameter.name, parameter.required, schema_html(parameter.schema))
