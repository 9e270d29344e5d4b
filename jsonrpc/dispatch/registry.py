"""The methods of an interface, with their parameters and options.

Each registry also has one function that turns the errors of its chain into error objects. `calls` executes calls.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from jsonrpc.dispatch.caller import Guard
from jsonrpc.dispatch.params import Param
from jsonrpc.errors import JsonRpcError, RegistrationError

Handler = Callable[..., object]
"""Takes the bound arguments; returns a value for JSON (or `Raw`), or raises."""

VectorHandler = Callable[[list[tuple[Any, ...]]], Sequence[object]]
"""Takes the bound arguments of several calls; returns a result or an exception for each."""

Gathers = Callable[[bytes], bool]
"""Returns, by a call's raw params, whether it is executed together with others that arrive meanwhile."""

ErrorMapper = Callable[[Exception], JsonRpcError | None]
"""Turns an error of the chain into an error object; returns None for an unexpected error."""


@dataclass(frozen=True, slots=True)
class Method:
    """One method of the interface.

    `handler` answers one call, `vectorized` several calls together; at least one of them is set.
    `hot` methods may be tried on the event loop; `computes` marks those that only run Python code. `connection`
    methods take the connection first, `client` methods the client's key. `gathers`: which calls wait for others of
    the method; `guard` refuses callers; `untimed` methods have no time limit.
    """

    name: str
    params: tuple[Param, ...]
    handler: Handler | None
    vectorized: VectorHandler | None
    hot: bool
    connection: bool
    client: bool
    computes: bool
    gathers: Gathers | None
    guard: Guard | None
    untimed: bool


@dataclass(frozen=True, slots=True)
class MethodDescription:
    """The description of a method for documentation."""

    name: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    hot: bool
    batched: bool
    connection: bool
    summary: str


def _no_domain_errors(_error: Exception) -> None:
    return None


class MethodRegistry:
    """Methods by name, in the order in which they were added."""

    def __init__(self, errors: ErrorMapper = _no_domain_errors) -> None:
        self.errors = errors
        self._methods: dict[str, Method] = {}
        self._unavailable: dict[str, str] = {}

    def add(
        self,
        name: str,
        handler: Handler | None = None,
        *,
        params: Sequence[Param] = (),
        hot: bool = False,
        vectorized: VectorHandler | None = None,
        connection: bool = False,
        client: bool = False,
        computes: bool = False,
        gathers: Gathers | None = None,
        guard: Guard | None = None,
        untimed: bool = False,
    ) -> None:
        """Add a method.

        Args:
            name: the name in requests.
            handler: called with one argument for each parameter.
            params: in their order; a required one may follow an optional one.
            hot: the handler may be tried on the event loop, where it raises one of the
                dispatcher's `would_block` exceptions instead of waiting.
            vectorized: answers consecutive calls of this method in a batch together.
            connection: the handler gets the connection as its first argument; over a transport
                without one the method answers that notifications are not supported.
            client: the handler gets the key under which the client is counted as its first
                argument (see `client_address`); "" if it is unknown.
            computes: the handler neither waits nor releases the interpreter, so that only few
                threads run such handlers simultaneously.
            gathers: which calls, each in its own body, are executed together; by default all calls of a method
                that is vectorized and not hot, and none of other methods.
            guard: refuses callers that may not call the method. Calls that are answered together, or from memory
                on the event loop, have no caller, so such methods cannot have a guard.
            untimed: a body with such a call has no time limit, because the call cannot be stopped. For methods of
                development chains.

        Raises:
            RegistrationError: the name is taken, or the options exclude each other.
        """
        if name in self._methods:
            raise RegistrationError(f"{name} is registered already")
        if handler is None and vectorized is None:
            raise RegistrationError(f"{name} has no handler")
        if (connection or client) and vectorized is not None:
            raise RegistrationError(f"{name} needs a connection, so it cannot be vectorized")
        if gathers is not None and vectorized is None:
            raise RegistrationError(f"{name} cannot answer calls together")
        if guard is not None and (hot or vectorized is not None):
            raise RegistrationError(f"{name} has a guard, so it can be neither hot nor vectorized")
        if connection and client:
            raise RegistrationError(f"{name} finds the client in its connection")
        self._methods[name] = Method(
            name,
            tuple(params),
            handler,
            vectorized,
            hot,
            connection,
            client,
            computes,
            gathers,
            guard,
            untimed,
        )

    def replace(
        self,
        name: str,
        handler: Handler,
        params: Sequence[Param],
        vectorized: VectorHandler | None = None,
    ) -> None:
        """Replace the handlers and parameters of an existing method."""
        self._methods[name] = replace(
            self._methods[name], handler=handler, params=tuple(params), vectorized=vectorized
        )

    def include(self, other: "MethodRegistry") -> None:
        """Add every method of another registry, without its error function.

        Raises:
            RegistrationError: a name is taken already.
        """
        for method in other:
            if method.name in self._methods:
                raise RegistrationError(f"{method.name} is registered already")
            self._methods[method.name] = method

    def add_unavailable(self, names: Iterable[str], reason: str) -> None:
        """Add a reason to the error for calls of methods that exist only with other settings.

        Args:
            names: their names; those of registered methods are ignored.
            reason: the condition under which they exist.
        """
        self._unavailable.update((name, reason) for name in names if name not in self._methods)

    @property
    def methods(self) -> Mapping[str, Method]:
        """A live, read-only view of the methods."""
        return MappingProxyType(self._methods)

    @property
    def unavailable(self) -> Mapping[str, str]:
        """A live, read-only view of the reasons why methods do not exist, by name."""
        return MappingProxyType(self._unavailable)

    def __iter__(self) -> Iterator[Method]:
        return iter(tuple(self._methods.values()))

    def __contains__(self, name: object) -> bool:
        return name in self._methods

    def __len__(self) -> int:
        return len(self._methods)

    def describe(self) -> tuple[MethodDescription, ...]:
        """Return a description of each method, for documentation and for tests."""
        return tuple(_description(method) for method in self)


def _description(method: Method) -> MethodDescription:
    lines = ((method.handler or method.vectorized).__doc__ or "").strip().splitlines()
    return MethodDescription(
        name=method.name,
        required=tuple(param.name for param in method.params if param.required),
        optional=tuple(param.name for param in method.params if not param.required),
        hot=method.hot,
        batched=method.vectorized is not None,
        connection=method.connection,
        summary=lines[0] if lines else "",
    )
