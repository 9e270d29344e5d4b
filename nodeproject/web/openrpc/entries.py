"""A method's entry in the reference, combined from its table, its docstring, the schemas and its example."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from cchain_app.api import errors as evm_errors
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import Method
from jsonrpc.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, SERVER_ERROR
from nodeproject.web.openrpc import (
    results_development,
    results_evm,
    results_platform,
    results_traces,
)
from nodeproject.web.openrpc.arguments import NEEDED, Undocumented, schema_of
from nodeproject.web.openrpc.docstrings import DocumentedError, ParsedDocstring, read
from nodeproject.web.openrpc.schemas import Schema

RESULTS: Final[Mapping[str, Schema]] = {
    **results_evm.RESULTS,
    **results_traces.RESULTS,
    **results_development.RESULTS,
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
    return tuple(sorted(found, key=lambda one: not one.required) if by_name else found)


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
            INVALID_PARAMS, "An argument is missing or cannot be read, or is one too many"
        )
    if method.guard is not None:
        yield MethodError(
            SERVER_ERROR, "The caller is a web page or another machine that may not call this"
        )
    if method.connection:
        yield MethodError(
            METHOD_NOT_FOUND, "Asked over HTTP: there are notifications over WebSocket alone"
        )


def _code_of(failure: DocumentedError, *, by_name: bool) -> int:
    if failure.code is not None:
        return failure.code
    return SERVER_ERROR if by_name else _CODES.get(failure.name, INTERNAL_ERROR)
