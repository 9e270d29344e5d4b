"""A table of methods whose handlers take the doors of a chain first."""

from collections.abc import Callable, Sequence
from functools import partial, update_wrapper
from typing import Any, TypeVar

from jsonrpc.params import Param
from jsonrpc.registry import MethodRegistry
from platform_app.api.errors import to_error_object
from platform_app.api.rpc import PlatformRpc

R = TypeVar("R")


class Methods:
    """Fills a registry; what it adds answers for one chain."""

    def __init__(self, rpc: PlatformRpc) -> None:
        self.registry = MethodRegistry(to_error_object)
        self._rpc = rpc

    def add(
        self,
        name: str,
        handler: Callable[..., object],
        *,
        params: Sequence[Param] = (),
        hot: bool = False,
    ) -> None:
        """Add a method that answers one call; see `MethodRegistry.add`."""
        self.registry.add(name, self._bound(handler), params=params, hot=hot)

    def add_vectorized(
        self, name: str, handler: Callable[..., Sequence[Any]], *, params: Sequence[Param] = ()
    ) -> None:
        """Add a method that answers several calls at once."""
        self.registry.add(name, vectorized=self._bound(handler), params=params)

    def _bound(self, handler: Callable[..., R]) -> Callable[..., R]:
        """Return a handler of this chain; it keeps the first one's name and docstring."""
        return update_wrapper(partial(handler, self._rpc), handler)
