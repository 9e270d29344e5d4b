"""The start command's flags, each generated from a setting: its names, its help, and its effect.

A flag sets the environment variable of its setting, so it overrides the environment, and processes that the node
starts inherit it.
"""

from argparse import SUPPRESS, Action, ArgumentParser, ArgumentTypeError, Namespace, _ArgumentGroup
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from typing_extensions import override

from nodeproject.settings.flags import Setting, declared_in, value_of, variable
from nodeproject.settings.tool_flags import CONVERTED, add_tool_flags

_DEST: Final = "setting_"
"""Prefix of the flags' names among a command's options, because Django has options of its own."""

T = TypeVar("T")


class ConflictingFlags(Exception):
    """Two flags that exclude each other."""

    def __init__(self, option: str, implied: str, given: str) -> None:
        super().__init__(
            f"{option} means {implied}, but {given} is given too: leave one of them out"
        )


class Row(NamedTuple):
    """A flag with a name of its own, for documentation."""

    options: tuple[str, ...]
    """All its names; a name for a fixed value includes that value."""
    variable: str
    """The variable that it sets."""
    remarks: str
    """Its further effects."""


def add_options(parser: ArgumentParser, cls: type[T]) -> None:
    """Add a flag for each setting to a command's parser; `environment` evaluates them."""
    first = parser.add_argument_group("flags that are used often")
    rest = parser.add_argument_group("flags of all other settings")
    for declared in declared_in(cls):
        group = rest if declared.metadata["options"] is None else first
        _add(group, declared)
    settings = {declared.name: declared for declared in declared_in(cls)}
    add_tool_flags(parser, settings, lambda name: _DEST + name, _text)


def environment(cls: type[T], options: Namespace) -> dict[str, str]:
    """Return the variables that the flags of a command line set.

    Raises:
        ConflictingFlags: One flag implies a value that another flag contradicts.
    """
    given: dict[str, Any] = {
        declared.name: getattr(options, _DEST + declared.name, None)
        for declared in declared_in(cls)
    }
    texts = {
        name: ",".join(text) if isinstance(text, list) else text
        for name, text in given.items()
        if text is not None
    }
    for declared in declared_in(cls):
        if declared.name not in texts:
            continue
        for name, allowed in declared.metadata["implies"].items():
            implied, *others = allowed.split("|")
            if texts.setdefault(name, implied) not in (implied, *others):
                raise ConflictingFlags(
                    _names(declared)[0],
                    f"{_dashed(name)} {implied}",
                    f"{_dashed(name)} {texts[name]}",
                )
    return {
        variable(declared): texts[declared.name]
        for declared in declared_in(cls)
        if declared.name in texts
    }


def option_table(cls: type[T]) -> Iterator[Row]:
    """Yield the flags that have another name than their setting, or further effects."""
    for declared in declared_in(cls):
        limits = declared.metadata
        implied = [
            f"{_dashed(name)} {text.partition('|')[0]}" for name, text in limits["implies"].items()
        ]
        if limits["options"] or implied:
            remarks = f"implies `{', '.join(implied)}`" if implied else ""
            yield Row(_names(declared), variable(declared), remarks)
        for option, text in limits["constants"].items():
            yield Row((option,), variable(declared), f"sets `{text}`" if text else "empties it")
        for tool_flag in CONVERTED:
            if tool_flag.setting == declared.name:
                yield Row(tool_flag.options, variable(declared), tool_flag.meaning.rstrip("."))


def _names(declared: Setting) -> tuple[str, ...]:
    """Return all names of a flag, its setting's name last."""
    return (*(declared.metadata["options"] or ()), _dashed(declared.name))


def _dashed(name: str) -> str:
    return "--" + name.replace("_", "-")


def _add(group: _ArgumentGroup, declared: Setting) -> None:
    limits, wanted, names = declared.metadata, declared.wanted, _names(declared)
    shared: dict[str, Any] = {
        "dest": _DEST + declared.name,
        "default": SUPPRESS,
        "help": f"{limits['meaning']} ({variable(declared)})".replace("%", "%%"),
    }
    if wanted is bool:
        group.add_argument(*names, action="store_const", const="true", **shared)
        group.add_argument(
            f"--no-{declared.name.replace('_', '-')}",
            action="store_const",
            const="false",
            **shared | {"help": f"the opposite of {names[-1]}"},
        )
        _add_constants(group, declared, shared)
        return
    read: Callable[[str], str] = partial(_text, declared)
    kind: dict[str, Any] = {"type": read, "metavar": "|".join(limits["choices"]) or "VALUE"}
    if limits["bare"] is not None:
        kind |= {"nargs": "?", "const": limits["bare"]}
    if wanted == tuple[str, ...]:
        group.add_argument(*names, action=_Append, **kind, **shared)
    else:
        group.add_argument(*names, **kind, **shared)
    _add_constants(group, declared, shared)


def _add_constants(group: _ArgumentGroup, declared: Setting, shared: Mapping[str, Any]) -> None:
    """Add the flags that set a fixed value."""
    option_of_value = _names(declared)[-1]
    for option, text in declared.metadata["constants"].items():
        group.add_argument(
            option,
            action="store_const",
            const=text,
            **{**shared, "help": f"{option_of_value} {text}".rstrip()},
        )


def _text(declared: Setting, text: str) -> str:
    """Return a flag's text unchanged, after verifying that it is valid for its setting."""
    try:
        value_of(text, declared)
    except ValueError as error:
        given = "the value cannot be read" if declared.metadata["secret"] else f"{text!r} was given"
        raise ArgumentTypeError(f"{given}; {error}") from None
    return text


class _Append(Action):
    """Collects the values of a flag that may occur several times."""

    @override
    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest, [])
        setattr(namespace, self.dest, [*before, values])
