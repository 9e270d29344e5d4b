"""Declaration of settings: a typed field of a frozen dataclass with its default, limits and documentation.

`nodeproject.settings.flags` reads such dataclasses from `NODE_…` variables.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class TextFormat(NamedTuple):
    """The required format of a text."""

    words: str
    """Its description, with an article."""
    read: Callable[[Any], object]
    """Raises ValueError if the text does not have this format."""


class FormError(ValueError):
    """A text does not have its format. The message says why, and repeats no part of the text that may be secret."""


def flag(
    default: T,
    meaning: str,
    *,
    choices: tuple[str, ...] = (),
    least: float | None = None,
    most: float | None = None,
    form: TextFormat | None = None,
    secret: bool = False,
    options: tuple[str, ...] | None = None,
    constants: Mapping[str, str] | None = None,
    implies: Mapping[str, str] | None = None,
) -> T:
    """Declare a setting with its default and the sentence that documents it.

    The start command has a flag with the setting's name: `http_port` is `--http-port` (`options`).

    Args:
        default: The value if the environment has none.
        meaning: The sentence.
        choices: The allowed values.
        least: The minimum of a number.
        most: The maximum of a number.
        form: The required format of the text, or of each part of it.
        secret: Whether the value is never shown because it may contain a key.
        options: Further names of the flag, such as `-p`. If given, even empty, the flag is among those that
            the start command's help lists first.
        constants: Flags without a value, each with the text that it sets.
        implies: Other settings by name, with the texts that they get if this setting's flag is given.
    """
    limits = {"choices": choices, "least": least, "most": most, "form": form, "secret": secret}
    names = {"options": options, "constants": constants or {}, "implies": implies or {}}
    made: T = field(
        default=default, repr=not secret, metadata={"meaning": meaning, **limits, **names}
    )
    return made


def group(cls: type[T], prefix: str = "") -> T:
    """Declare a group of settings: a field whose value is a dataclass of settings.

    Args:
        cls: The dataclass; each of its fields is declared with `flag` or `group`.
        prefix: The beginning of the names of its settings: `slots` in a group with the prefix `pool_` is the
            setting `pool_slots`.
    """
    made: T = field(default=cls(), metadata={"prefix": prefix})
    return made
