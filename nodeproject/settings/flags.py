"""How a `NODE_…` variable becomes a value: one typed field, one line in the documented table."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import Field, field, fields
from typing import Any, TypeVar, get_type_hints

PREFIX = "NODE_"

T = TypeVar("T")


class BadSetting(SystemExit):
    """A variable of the environment cannot be read as what it should be.

    No process of the node can go on with that: it ends with the message, and without a trace.
    """


def flag(default: T, meaning: str, *, choices: tuple[str, ...] = ()) -> T:
    """Declare a setting with its default and the sentence that documents it."""
    made: T = field(default=default, metadata={"meaning": meaning, "choices": choices})
    return made


def read(cls: type[T], environ: Mapping[str, str] = os.environ) -> T:
    """Make a settings object from the environment.

    Names that are not declared are ignored: NODE_ENV and NODE_OPTIONS are Node.js' own.

    Raises:
        BadSetting: A value does not fit its type or choices.
    """
    types = get_type_hints(cls)
    values: dict[str, Any] = {}
    for declared in fields(cls):  # type: ignore[arg-type]  # T is a dataclass by convention
        name = PREFIX + declared.name.upper()
        if name in environ:
            value = _convert(name, environ[name], types[declared.name])
            choices = declared.metadata["choices"]
            values[declared.name] = _chosen(name, str(value), choices) if choices else value
    return cls(**values)


def table(cls: type[T]) -> Iterator[tuple[str, str, str]]:
    """Yield (variable, default, meaning) of every setting, for documents and tests."""
    for declared in fields(cls):  # type: ignore[arg-type]  # as above
        yield PREFIX + declared.name.upper(), _default(declared), declared.metadata["meaning"]


def _default(declared: "Field[Any]") -> str:
    value = declared.default
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _chosen(name: str, text: str, choices: tuple[str, ...]) -> str:
    """Return the choice that a text means, in whatever case it is written."""
    for choice in choices:
        if choice.casefold() == text.casefold():
            return choice
    raise BadSetting(f"{name} is {text!r}; it must be one of {', '.join(choices)}")


def _convert(name: str, text: str, wanted: object) -> object:
    try:
        if wanted is bool:
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[
                text.strip().lower()
            ]
        if wanted == tuple[str, ...]:
            return tuple(part.strip() for part in text.split(",") if part.strip())
        return {int: int, float: float, str: str}[wanted](text.strip())  # type: ignore[index]
    except (KeyError, ValueError):
        kind = getattr(wanted, "__name__", str(wanted))
        raise BadSetting(f"{name} is {text!r}, which is no {kind}") from None
