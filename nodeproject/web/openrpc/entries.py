"""A method's entry in the reference, combined from its table, its docstring, the schemas and its example.

Docstrings of handlers have a fixed form, which a test verifies: the first line is the method's name, or several
names, a colon and the summary; then optional paragraphs, and `Raises:` with a line for each error. A handler with
the errors of another handler says `Raises as` and the other's name.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from cchain_app.api import errors as evm_errors
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import Method
from jsonrpc.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, SERVER_ERROR
from nodeproject.web.openrpc import results_debugging, results_evm, results_platform
from nodeproject.web.openrpc.arguments import NEEDED, Undocumented, schema_of
from nodeproject.web.openrpc.schemas import Schema

_FIRST: Final = re.compile(r"[\w., ]+?: (?P<summary>.+)", re.DOTALL)
_AS: Final = re.compile(r" ?Raises as `?(?P<name>\w+)`?\.")
_SECTION: Final = re.compile(r"\n+(?P<title>Args|Raises):\n(?P<text>(?:    .*\n|\n(?=    ))*)")
_ENTRY: Final = re.compile(r"^    (?P<name>\w+): (?P<text>.*(?:\n        .*)*)", re.MULTILINE)
_CODE: Final = re.compile(r"(?P<code>-?\d+), (?P<text>.+)", re.DOTALL)
_CITED: Final = re.compile(r"\s*\((?:specification|[a-z]+\.md|`[a-z_.]+`)[^)]*\)")
_UNSPECIFIED: Final = re.compile(r"Unspecified: (?P<first>.)")


class DocumentedError(NamedTuple):
    """An error that a docstring names."""

    name: str
    """The name of its class; JsonRpcError for any code."""
    code: int | None
    """The code in the text, None if it has none."""
    text: str


class ParsedDocstring(NamedTuple):
    """The content of a docstring."""

    summary: str
    """A sentence, or empty."""
    description: str
    """Paragraphs, often empty."""
    failures: tuple[DocumentedError, ...]


def read(handler: Callable[..., Any]) -> ParsedDocstring:
    """Return the content of a handler's docstring."""
    function = inspect.unwrap(handler)
    text = inspect.getdoc(handler) or ""
    sections = {match["title"]: match["text"] for match in _SECTION.finditer(f"{text}\n")}
    paragraphs = _SECTION.sub("", f"{text}\n").split("\n\n")
    first = _FIRST.fullmatch(_plain(paragraphs[0]))
    return ParsedDocstring(
        _sentence(first["summary"]) if first else "",
        "\n\n".join(_sentence(item) for item in map(_plain, paragraphs[1:]) if item),
        (*_failures(sections.get("Raises", "")), *_errors_of(function, text)),
    )


def _plain(paragraph: str) -> str:
    """Return a paragraph without the parts that are only useful to readers of the code."""
    return _CITED.sub("", _AS.sub("", " ".join(paragraph.split())))


def _sentence(text: str) -> str:
    """Return a text with a capital first letter, unless it begins with a name."""
    shown = _UNSPECIFIED.sub(lambda found: found["first"].upper(), text).strip()
    first = shown.partition(" ")[0]
    return shown if not first.islower() or "_" in first else shown[:1].upper() + shown[1:]


def _failures(section: str) -> Iterator[DocumentedError]:
    for entry in _ENTRY.finditer(section):
        text = " ".join(entry["text"].split()).rstrip(".")
        coded = [found for part in text.split("; ") if (found := _CODE.fullmatch(part))]
        if not coded:
            yield DocumentedError(entry["name"], None, _sentence(text))
        for found in coded:
            yield DocumentedError(entry["name"], int(found["code"]), _sentence(found["text"]))


def _errors_of(function: Callable[..., Any], text: str) -> tuple[DocumentedError, ...]:
    """Return the errors of the handler that a docstring refers to, in the same module."""
    named = _AS.search(" ".join(text.split()))
    if named is None:
        return ()
    return read(function.__globals__[named["name"]]).failures


RESULTS: Final[Mapping[str, Schema]] = {
    **results_evm.RESULTS,
    **results_debugging.TRACES,
    **results_debugging.DEVELOPMENT,
    **results_platform.RESULTS,
}
"""The schema of each method's result."""

_CODES: Final[Mapping[str, int]] = {one.__name__: code for one, code in evm_errors.CODES.items()}
_INSIDE: Final = frozenset({"WouldBlock"})
"""Exceptions of handlers that never reach a client."""


class MethodParameter(NamedTuple):
    """A parameter."""

    name: str
    required: bool
    schema: Schema


class MethodError(NamedTuple):
    """An error that a method may return: its code, and the condition."""

    code: int
    text: str


class Example(NamedTuple):
    """A call and its answer: a result, or an error object for a method that always fails."""

    params: Sequence[Any] | Mapping[str, Any]
    result: Any
    error: Mapping[str, Any] | None
    changes: bool
    """Whether the call changes the node, which the page mentions before it is tried."""


class MethodEntry(NamedTuple):
    """A method."""

    name: str
    summary: str
    description: str
    arguments: tuple[MethodParameter, ...]
    by_name: bool
    """Whether params are an object; otherwise they are an array."""
    result: Schema
    faults: tuple[MethodError, ...]
    example: Example
    needs_socket: bool
    """Whether the method is only available over a WebSocket."""

    @property
    def namespace(self) -> str:
        """The first part of the method's name."""
        return self.name.partition("." if self.by_name else "_")[0]


def entries_of(
    methods: Iterable[Method], examples: Mapping[str, Mapping[str, Any]], *, by_name: bool
) -> Iterator[MethodEntry]:
    """Yield the methods of a table in its order.

    Raises:
        Undocumented: The documentation of a method is incomplete.
    """
    for method in methods:
        yield _entry(method, examples, by_name=by_name)


def _entry(
    method: Method, examples: Mapping[str, Mapping[str, Any]], *, by_name: bool
) -> MethodEntry:
    name, handler = method.name, method.handler or method.vectorized
    assert handler is not None, "a registry has no others"
    parsed = read(handler)
    if not parsed.summary or name not in RESULTS or name not in examples:
        raise Undocumented(f"the summary, the result or an example of {name}")
    found = examples[name]
    return MethodEntry(
        name,
        parsed.summary,
        parsed.description,
        _arguments(method, by_name=by_name),
        by_name,
        RESULTS[name],
        tuple(_faults(method, parsed, by_name=by_name)),
        Example(
            found["params"], found.get("result"), found.get("error"), found.get("changes", False)
        ),
        method.connection,
    )


def _arguments(method: Method, *, by_name: bool) -> tuple[MethodParameter, ...]:
    """Return the parameters in their order; for named params the required ones first."""
    needed = NEEDED.get(method.name, ())
    found = [_argument(param, needed) for param in method.params]
    return tuple(sorted(found, key=lambda argument: not argument.required) if by_name else found)


def _argument(param: Param, needed: Iterable[str]) -> MethodParameter:
    return MethodParameter(param.name, param.required or param.name in needed, schema_of(param))


def _faults(method: Method, parsed: ParsedDocstring, *, by_name: bool) -> Iterator[MethodError]:
    for failure in parsed.failures:
        if failure.name not in _INSIDE:
            yield MethodError(_code_of(failure, by_name=by_name), failure.text)
    if by_name:
        yield MethodError(
            SERVER_ERROR, "An argument cannot be read, or the request cannot be fulfilled"
        )
    elif method.params:
        yield MethodError(
            INVALID_PARAMS,
            "An argument is missing or cannot be read, or there are too many arguments",
        )
    if method.guard is not None:
        yield MethodError(
            SERVER_ERROR,
            "The caller is a web page or another machine that may not call this method",
        )
    if method.connection:
        yield MethodError(METHOD_NOT_FOUND, "Called over HTTP: notifications need a WebSocket")


def _code_of(failure: DocumentedError, *, by_name: bool) -> int:
    if failure.code is not None:
        return failure.code
    return SERVER_ERROR if by_name else _CODES.get(failure.name, INTERNAL_ERROR)
