"""Dataclasses whose methods are not compiled behave as those of the standard library, in results and in errors."""

import dataclasses
import importlib.util
import operator
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from nodeproject.startup import dataclass_methods

pytestmark = pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="Python compiles the methods of a class together"
)

OPTIONS: dict[str, dict[str, bool]] = {
    "plain": {},
    "frozen": {"frozen": True},
    "slots": {"frozen": True, "slots": True},
    "ordered": {"frozen": True, "order": True},
    "hashed": {"unsafe_hash": True},
    "identity": {"eq": False},
}


def library() -> Any:
    """Return another copy of the standard library's module, with its own functions."""
    spec = importlib.util.spec_from_file_location("compiled_dataclasses", dataclasses.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


COMPILED = library()


def classes(lib: Any, options: dict[str, bool]) -> tuple[type[Any], ...]:
    """Return a class with fields of all kinds, one that inherits from it, one with one field and one with none."""

    @lib.dataclass(**options)
    class Whole:
        number: int
        words: tuple[str, ...] = ()
        hidden: str = lib.field(default="h", repr=False, compare=False)
        unhashed: Any = lib.field(default=None, hash=False)

    @lib.dataclass(**options)
    class Heir(Whole):
        more: int = 0

    @lib.dataclass(**options)
    class One:
        only: Any

    @lib.dataclass(**options)
    class Empty:
        pass

    return Whole, Heir, One, Empty


def outcome(action: Callable[[], Any]) -> tuple[str, str]:
    """Return the text of a result, or the class and the message of an error."""
    try:
        return "", str(action())
    except Exception as error:  # each kind is compared
        return type(error).__name__, str(error)


def outcomes(lib: Any, options: dict[str, bool]) -> list[tuple[str, str]]:
    """Return what a class with these options does in each case."""
    whole, heir, one, empty = classes(lib, options)
    made = [
        whole(1), whole(1, ("a",)), whole(1, hidden="x"), whole(2, unhashed=[]), whole(1, ("a",), unhashed=7),
        heir(1), heir(1, more=2), one(3), one((3,)), one([]), empty(), empty(),
    ]  # fmt: skip
    deep = one(None)
    if not options.get("frozen"):
        deep.only = deep  # its text contains itself

    def reassign(item: Any, name: str) -> Any:
        setattr(item, name, 9)
        return getattr(item, name)

    found = [outcome(partial(operator.eq, a, b)) for a in made for b in (*made, 3, None)]
    found += [outcome(partial(operator.lt, a, b)) for a in made for b in made if type(a) is type(b)]
    has_hash = options.get("frozen") or options.get("unsafe_hash")
    for item in made:
        if has_hash:
            found.append(outcome(partial(hash, item)))
        found.append(("hash", str(type(item).__hash__ is None)))
        found += [outcome(partial(repr, item)), ("name", type(item).__eq__.__qualname__)]
        for name in ("number", "hidden", "other", "only"):
            found.append(outcome(partial(reassign, item, name)))
            found.append(outcome(partial(delattr, item, name)))
    return [*found, outcome(lambda: repr(deep))]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_each_method_gives_the_result_of_the_compiled_one(options: dict[str, bool]) -> None:
    assert dataclass_methods.install()
    ours, compiled = outcomes(dataclasses, options), outcomes(COMPILED, options)
    assert ours == compiled
    assert len({kind for kind, _ in ours}) > 1


def test_another_version_of_the_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(fields: Any, builder: Any) -> None:
        raise AssertionError

    before = {name: getattr(dataclasses, name) for name in ("_hash_fn", "_cmp_fn")}
    monkeypatch.setattr(dataclasses, "_repr_fn", other)
    for name, function in before.items():
        monkeypatch.setattr(dataclasses, name, function)
    assert not dataclass_methods.install()
    assert {name: getattr(dataclasses, name) for name in before} == before
    monkeypatch.delattr(dataclasses, "_repr_fn")
    assert not dataclass_methods.install()
