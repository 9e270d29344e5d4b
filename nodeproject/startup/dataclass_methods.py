"""Methods of dataclasses without a compiler, because a start of the node creates some 270 of these classes.

Python 3.11 and 3.12 write the source of six methods for each class and compile each of them, which takes a fifth of a
start. `install` replaces the functions of the standard library that make five of them: `__repr__`, `__eq__`, `__hash__`, and
the two that freeze an instance. They are closures here, with the same results and errors; `__init__` is still compiled. Python
3.13 compiles the methods of a class together, so it is left alone, as is every version whose functions have other parameters.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

_LIBRARY: Final[Any] = dataclasses
"""The module, as an object whose functions can be replaced."""

_PARAMETERS: Final[Mapping[str, tuple[str, ...]]] = {
    "_repr_fn": ("fields", "globals"),
    "_frozen_get_del_attr": ("cls", "fields", "globals"),
    "_hash_fn": ("fields", "globals"),
    "_cmp_fn": ("name", "op", "self_tuple", "other_tuple", "globals"),
}
"""The functions that are replaced, with their parameters."""

_compiled_comparison: Final[Any] = getattr(_LIBRARY, "_cmp_fn", None)
"""The library's function, for orders."""

Method = Callable[..., Any]


def install() -> bool:
    """Replace the library's functions for classes that are created later; return whether it has the expected ones."""
    if not all(_is_expected(name) for name in _PARAMETERS):
        return False
    _LIBRARY._repr_fn = make_repr  # noqa: SLF001
    _LIBRARY._frozen_get_del_attr = make_freezing  # noqa: SLF001
    _LIBRARY._hash_fn = make_hash  # noqa: SLF001
    _LIBRARY._cmp_fn = make_comparison  # noqa: SLF001
    return True


def make_repr(fields: Sequence[Any], globals: object) -> Method:
    """Return `__repr__` for a class with these fields."""
    names = [field.name for field in fields]

    def __repr__(self: Any) -> str:  # noqa: N807
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({values})"

    guarded: Method = _LIBRARY._recursive_repr(__repr__)  # noqa: SLF001
    return guarded


def make_freezing(cls: type[Any], fields: Sequence[Any], globals: object) -> tuple[Method, Method]:
    """Return `__setattr__` and `__delattr__` of a frozen class."""
    names = frozenset(field.name for field in fields)

    def __setattr__(self: Any, name: str, value: object) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def make_hash(fields: Sequence[Any], globals: object) -> Method:
    """Return `__hash__` for a class with these fields."""
    values_of = _values([field.name for field in fields])

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values_of(self))

    return __hash__


def make_comparison(
    name: str,
    op: str,
    self_tuple: str,
    other_tuple: str,
    globals: object,
) -> Method:
    """Return a comparison; `self_tuple` has the source of a tuple of the compared fields: (self.x,self.y,)."""
    if op != "==":
        compiled: Method = _compiled_comparison(name, op, self_tuple, other_tuple, globals=globals)
        return compiled
    terms = self_tuple.strip("()").split(",")
    values_of = _values([term.removeprefix("self.") for term in terms if term])

    def __eq__(self: Any, other: object) -> Any:  # noqa: N807
        if other.__class__ is self.__class__:
            return values_of(self) == values_of(other)
        return NotImplemented

    return __eq__


def _values(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that returns the values of these attributes as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _is_expected(name: str) -> bool:
    function, names = getattr(_LIBRARY, name, None), _PARAMETERS[name]
    code = getattr(function, "__code__", None)
    return code is not None and code.co_varnames[: code.co_argcount] == names
