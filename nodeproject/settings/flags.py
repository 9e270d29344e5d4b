"""Parsing of `NODE_…` variables: one typed field is one row in the documented table.

`primitives.settings` declares the fields. A field that is a group contributes the settings of its own fields.
"""

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any, Final, NamedTuple, TypeVar, get_type_hints

from primitives.settings import FormError

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
"""Variables of other programs with the same prefix."""

_LINK: Final = re.compile(
    r"\w+_SERVICE_(?:HOST|PORT(?:_\w+)?)|\w+_PORT_[0-9]+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?"
)
"""Names of variables that Kubernetes sets for each service of a namespace, besides `_PORT`."""
_LINK_VALUE: Final = re.compile(r"(?:tcp|udp|sctp)://\S+:[0-9]+")
"""Values that Kubernetes gives to `_PORT` variables."""

T = TypeVar("T")


class Setting(NamedTuple):
    """A declared setting."""

    name: str
    """Its name: that of its variable in lower case, without the prefix of all variables."""
    path: tuple[str, ...]
    """The attributes that lead to it, those of its groups first."""
    wanted: object
    """The type of its value."""
    default: Any
    metadata: Mapping[str, Any]
    """The further arguments of its `flag`."""


class BadSetting(SystemExit):
    """An environment variable has an invalid value.

    No process of the node can continue with that: it ends with the message, without a traceback.
    """


def read(cls: type[T], environ: Mapping[str, str] = os.environ) -> T:
    """Create a settings object from the environment.

    Undeclared names are left to `unknown`. Service links have no effect (`is_service_link`).

    Raises:
        BadSetting: A value does not fit its type or choices.
    """
    values: dict[str, Any] = {}
    for declared in declared_in(cls):
        name = variable(declared)
        if name in environ and not is_service_link(name, environ[name]):
            try:
                values[declared.name] = value_of(environ[name], declared)
            except ValueError as error:
                secret = declared.metadata["secret"]
                said = "cannot be read" if secret else f"is {environ[name].strip()!r}"
                raise BadSetting(f"{name} {said}; {error}") from None
    return with_values(cls(), values)


def with_values(settings: T, values: Mapping[str, object]) -> T:
    """Return the settings with other values, each by its setting's name, such as `pool_slots`.

    Raises:
        KeyError: There is no setting of a name.
    """
    paths = {declared.name: declared.path for declared in declared_in(type(settings))}
    for name, value in values.items():
        settings = _with_value(settings, paths[name], value)
    return settings


def _with_value(settings: T, path: Sequence[str], value: object) -> T:
    first, *rest = path
    inner = _with_value(getattr(settings, first), rest, value) if rest else value
    return replace(settings, **{first: inner})  # type: ignore[type-var]  # dataclasses by convention


def declared_in(cls: type[T]) -> list[Setting]:
    """Return each setting, in the order of declaration."""
    types, found = get_type_hints(cls), []
    for field in fields(cls):  # type: ignore[arg-type]  # T is a dataclass by convention
        prefix = field.metadata.get("prefix")
        if prefix is None:
            path, kind = (field.name,), types[field.name]
            found.append(Setting(field.name, path, kind, field.default, field.metadata))
            continue
        found += [
            inner._replace(name=prefix + inner.name, path=(field.name, *inner.path))
            for inner in declared_in(types[field.name])
        ]
    return found


def variable(declared: Setting) -> str:
    """Return the environment variable of a setting."""
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
    names = (variable(declared) for declared in declared_in(cls))
    return [name for name in names if name in environ and is_service_link(name, environ[name])]


def unknown(cls: type[T], environ: Mapping[str, str] = os.environ) -> dict[str, str | None]:
    """Return the variables that look like settings but are not, each with the setting that was probably meant.

    The value is None if no name is similar. Variables of other programs and service links are omitted.
    """
    known = [variable(declared) for declared in declared_in(cls)]
    strange = sorted(
        name
        for name, value in environ.items()
        if name.startswith(PREFIX)
        and name not in {*known, *OTHERS}
        and not is_service_link(name, value)
    )
    return {name: next(iter(get_close_matches(name, known, 1, 0.8)), None) for name in strange}


def table(cls: type[T]) -> Iterator[tuple[str, str, str]]:
    """Yield (variable, default, meaning) of every setting, for documentation and tests."""
    for declared in declared_in(cls):
        yield variable(declared), _default(declared), declared.metadata["meaning"]


def _default(declared: Setting) -> str:
    value = declared.default
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def value_of(text: str, declared: Setting) -> object:
    """Return the value of a setting's text.

    Args:
        text: The text in the environment.
        declared: The setting.

    Raises:
        ValueError: The text is not a valid value; the message describes the valid ones.
    """
    limits, wanted = declared.metadata, declared.wanted
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
        # Only a setting whose default is an empty text may be empty.
        if limits["form"] is not None and (part or default):
            limits["form"].read(part)
    if isinstance(value, int | float):
        _verify_within(value, limits["least"], limits["most"])
    return value


def _among(value: object, choices: tuple[str, ...]) -> object:
    """Return a choice, or all chosen elements of a list in the order of the choices."""
    if not isinstance(value, tuple):
        return _choice(str(value), choices)
    chosen = {_choice(item, choices) for item in value}
    return tuple(choice for choice in choices if choice in chosen)


def _choice(text: str, choices: tuple[str, ...]) -> str:
    """Return the choice that a text names, ignoring case."""
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
    """Describe the allowed values of a setting, to follow "it must be"."""
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
