"""The interface of a facet: a part of the state with its own reads, its own changes and its own rows.

A facet consists of a protocol with its reads and a class that layers changes on it, both in one module of `state`,
and of a class that reads and writes its rows (`store.facet.FacetRows`). A new facet gets one line in each of
`ChainState`, `Diff`, `store.state.DatabaseState` and `store.blocks.FACETS`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar

Reads = TypeVar("Reads")
Layer = TypeVar("Layer", bound="FacetDiff[Any]")


class FacetDiff(ABC, Generic[Reads]):
    """Changes of one facet on top of the same facet of the parent state. It never writes to the parent.

    Subclasses implement the reads of their facet, setters, and the methods below. Setters do not check their
    arguments.
    """

    __slots__ = ("_parent",)

    def __init__(self, parent: Reads) -> None:
        self._parent = parent

    def rebase(self, parent: Reads) -> None:
        """Read through to another parent from now on, which must have the same content as the old one."""
        self._parent = parent

    @abstractmethod
    def apply(self, into: Self) -> None:
        """Repeat every change on another diff, which may be the parent."""

    @abstractmethod
    def changes(self) -> Any:
        """Return all changes relative to the parent, as an immutable value that can be compared."""


class Facet(Generic[Layer]):
    """An attribute of `Diff` with the changes of one facet.

    They are created at the first access and stored in the diff's `__dict__`, where later accesses find them:
    a transaction needs few facets, and each transaction has a diff.
    """

    def __init__(self, layer: Callable[[Any], Layer]) -> None:
        """Create the attribute; `layer` is called with the same facet of the diff's parent."""
        self._layer = layer

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, diff: Any, owner: type | None = None) -> Layer:
        layer: Layer = self._layer(getattr(diff.parent, self._name))
        diff.__dict__[self._name] = layer
        return layer
