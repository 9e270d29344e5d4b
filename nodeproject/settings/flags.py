"""How a `NODE_…` variable becomes a value: one typed field, one line in the documented table."""

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, field, fields
from difflib import get_close_matches
from typing import Any, Final, NamedTuple, TypeVar, get_type_hints

PREFIX = "NODE_"

OTHERS: Final = frozenset(
    {
        # Node.js
        "NODE_CHANNEL_FD", "NODE_CHANNEL_SERIALIZATION_MODE", "NODE_COMPILE_CACHE",
        "NODE_COMPILE_CACHE_PORTABLE", "NODE_DEBUG", "NODE_DEBUG_NATIVE", "NODE_DISABLE_COLORS",
        "NODE_DISABLE_COMPILE_CACHE", "NODE_ENV", "NODE_EXTRA_CA_CERTS", "NODE_HOME",
        "NODE_ICU_DATA", "NODE_NO_WARNINGS", "NODE_OPTIONS", "NODE_PATH",
        "NODE_PENDING_DEPRECATION", "NODE_PENDING_PIPE_INSTANCES", "NODE_PRESERVE_SYMLINKS",
        "NODE_PRESERVE_SYMLINKS_MAIN", "NODE_REDIRECT_WARNINGS", "NODE_REPL_EXTERNAL_MODULE",
        "NODE_REPL_HISTORY", "NODE_SKIP_PLATFORM_CHECK", "NODE_TEST_CONTEXT",
        "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_UNIQUE_ID", "NODE_USE_ENV_PROXY",
        "NODE_USE_SYSTEM_CA", "NODE_V8_COVERAGE", "NODE_VERSION",
        # npm and its registries, Jenkins, Kubernetes
        "NODE_AUTH_TOKEN", "NODE_GYP_FORCE_PYTHON", "NODE_HOSTNAME", "NODE_IP", "NODE_LABELS",
        "NODE_NAME",
    }
)  # fmt: skip
"""Variables of other programs that begin like ours."""

_LINK: Final = re.compile(
    r"\w+_SERVICE_(?:HOST|PORT(?:_\w+)?)|\w+_PORT_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?"
)
"""Names of variables that Kubernetes sets for each service of a namespace, besides `_PORT`."""
_LINK_VALUE: Final = re.compile(r"(?:tcp|udp|sctp)://\S+:[0-9]+")
"""Values that Kubernetes gives `_PORT`."""

T = TypeVar("T")


class Form(NamedTuple):
    """How a text has to be written."""

    words: str
    """What it is, with an article."""
    read: Callable[[Any], object]
    """Raises ValueError for what is none."""


class FormError(ValueError):
    """A text is not of its form. The message says why, and repeats nothing of the text that may be secret."""


class BadSetting(SystemExit):
    """A variable of the environment cannot be read as what it should be.

    No process of the node can go on with that: it ends with the message, and without a trace.
    """


def flag(
    default: T,
    meaning: str,
    *,
    choices: tuple[str, ...] = (),
    least: float | None = None,
    most: float | None = None,
    form: Form | None = None,
    secret: bool = False,
    options: tuple[str, ...] | None = None,
    constants: Mapping[str, str] | None = None,
    implies: Mapping[str, str] | None = None,
) -> T:
    """Declare a setting with its default and the sentence that documents it.

    The start command has a flag for it by its name: `http_port` is `--http-port` (`options`).

    Args:
        default: Where the environment says nothing.
        meaning: The sentence.
        choices: What it may be.
        least: The smallest number that it may be.
        most: The largest.
        form: How the text, or each part of it, has to be written.
        secret: Whether its value is never shown: it may hold a key.
        options: Further names of its flag, such as `-p`. Given, even empty, the flag is one of those
            that the start command's help names first.
        constants: Flags without a value, and the text that each of them stands for.
        implies: Other settings by name, and the texts that they have where this one's flag is given.
    """
    limits = {"choices": choices, "least": least, "most": most, "form": form, "secret": secret}
    names = {"options": options, "constants": constants or {}, "implies": implies or {}}
    made: T = field(
        default=default, repr=not secret, metadata={"meaning": meaning, **limits, **names}
    )
    return made


def read(cls: type[T], environ: Mapping[str, str] = os.environ) -> T:
    """Make a settings object from the environment.

    Names that are not declared are left to `unknown`. Service links have no effect (`is_service_link`).

    Raises:
        BadSetting: A value does not fit its type or choices.
    """
    values: dict[str, Any] = {}
    for declared, wanted in declared_in(cls):
        name = variable(declared)
        if name in environ and not is_service_link(name, environ[name]):
            try:
                values[declared.name] = value_of(environ[name], wanted, declared)
            except ValueError as error:
                secret = declared.metadata["secret"]
                said = "cannot be read" if secret else f"is {environ[name].strip()!r}"
                raise BadSetting(f"{name} {said}; {error}") from None
    return cls(**values)


def declared_in(cls: type[T]) -> "list[tuple[Field[Any], object]]":
    """Return each setting with its type, in the order in which they are declared."""
    types = get_type_hints(cls)
    return [(one, types[one.name]) for one in fields(cls)]  # type: ignore[arg-type]  # T is a dataclass by convention


def variable(declared: "Field[Any]") -> str:
    """Return the variable of the environment that has a setting."""
    return PREFIX + declared.name.upper()


def is_service_link(name: str, value: str) -> bool:
    """Return whether a variable is not a setting but the address of a service, set by Kubernetes or Docker.

    A service `node-http` sets NODE_HTTP_PORT to `tcp://10.0.0.1:9650`, for example.
    """
    if name.endswith("_PORT") and _LINK_VALUE.fullmatch(value.strip()):
        return True
    return _LINK.fullmatch(name) is not None


def linked(cls: type[T], environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the variables with the name of a setting that are service links."""
    names = (variable(declared) for declared in fields(cls))  # type: ignore[arg-type]  # as above
    return [name for name in names if name in environ and is_service_link(name, environ[name])]


def unknown(cls: type[T], environ: Mapping[str, str] = os.environ) -> dict[str, str | None]:
    """Return the variables that look like settings and are none, each with the one that was meant.

    None stands where no name is near. Variables of other programs, and service links, are left out.
    """
    known = [PREFIX + declared.name.upper() for declared in fields(cls)]  # type: ignore[arg-type]  # as above
    strange = sorted(
        name
        for name, value in environ.items()
        if name.startswith(PREFIX)
        and name not in {*known, *OTHERS}
        and not is_service_link(name, value)
    )
    return {name: next(iter(get_close_matches(name, known, 1, 0.8)), None) for name in strange}


def table(cls: type[T]) -> Iterator[tuple[str, str, str]]:
    """Yield (variable, default, meaning) of every setting, for documents and tests."""
    for declared in fields(cls):  # type: ignore[arg-type]  # as above
        yield variable(declared), _default(declared), declared.metadata["meaning"]


def _default(declared: "Field[Any]") -> str:
    value = declared.default
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def value_of(text: str, wanted: object, declared: "Field[Any]") -> object:
    """Return the value that a text means.

    Args:
        text: As it stands in the environment.
        wanted: The setting's type.
        declared: The setting.

    Raises:
        ValueError: It means none that the setting may have; the message is what it must be.
    """
    limits = declared.metadata
    try:
        return _value(text.strip(), wanted, limits, declared.default)
    except ValueError as error:
        reason = f" ({error})" if isinstance(error, FormError) else ""
        raise ValueError(f"it must be {_allowed(wanted, limits)}{reason}") from None


def _value(text: str, wanted: object, limits: Mapping[str, Any], default: object) -> object:
    value = _converted(text, wanted)
    if limits["choices"]:
        return _among(value, limits["choices"])
    for part in value if isinstance(value, tuple) else (value,):
        # An empty text is the default of settings that may be left out, and of no other.
        if limits["form"] is not None and (part or default):
            limits["form"].read(part)
    if isinstance(value, int | float):
        _verify_within(value, limits["least"], limits["most"])
    return value


def _among(value: object, choices: tuple[str, ...]) -> object:
    """Return a choice, or of a list all that are chosen, in the order of the choices."""
    if not isinstance(value, tuple):
        return _choice(str(value), choices)
    chosen = {_choice(one, choices) for one in value}
    return tuple(choice for choice in choices if choice in chosen)


def _choice(text: str, choices: tuple[str, ...]) -> str:
    """Return the choice that a text means, in whatever case it is written."""
    for choice in choices:
        if choice.casefold() == text.casefold():
            return choice
    raise ValueError


def _converted(text: str, wanted: object) -> object:
    if wanted is bool:
        return _choice(text, ("1", "true", "yes", "0", "false", "no")) in {"1", "true", "yes"}
    if wanted == tuple[str, ...]:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    kinds: dict[object, Callable[[str], object]] = {int: int, float: float, str: str}
    return kinds[wanted](text)


def _verify_within(value: float, least: float | None, most: float | None) -> None:
    below = least is not None and value < least
    above = most is not None and value > most
    if below or above or not math.isfinite(value):
        raise ValueError


def _allowed(wanted: object, limits: Mapping[str, Any]) -> str:
    """Say what a setting may be, after "it must be"."""
    if limits["choices"]:
        return f"one of {', '.join(limits['choices'])}"
    if limits["form"] is not None:
        several = wanted == tuple[str, ...]
        return f"{limits['form'].words}{', or several with commas' if several else ''}"
    if wanted is bool:
        return "true or false"
    kind = "a whole number" if wanted is int else "a number"
    least, most = limits["least"], limits["most"]
    if most is not None:
        return f"{kind} from {least} to {most}"
    return kind if least is None else f"{kind}, {least} or more"
