"""Parts of an object that are created at their first use."""

from collections.abc import Callable
from threading import RLock
from typing import Any, Generic, Protocol, Self, TypeVar, overload

T = TypeVar("T")


class HasLateParts(Protocol):
    """An object with such parts."""

    late_lock: RLock
    """Held while a part is created, so that each is created once, whichever thread asks first."""


class Late(Generic[T]):
    """A part that is created at its first use, as by `functools.cached_property`, once for all threads.

    A creation that fails is tried again at the next use.

    Args:
        create: Returns the part of an object.
    """

    def __init__(self, create: Callable[[Any], T]) -> None:
        self._create = create
        self.__doc__ = create.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: HasLateParts, owner: type) -> T: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        """Return the part; it is then an attribute of its object, which Python finds before this descriptor."""
        if instance is None:
            return self
        with instance.late_lock:
            parts = instance.__dict__
            if self._name not in parts:
                parts[self._name] = self._create(instance)
            return parts[self._name]
