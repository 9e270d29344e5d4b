"""Parameters of methods: named, each read by its own function, and bound to arguments.

The chains define how single values (quantities, addresses) are parsed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from jsonrpc.errors import INVALID_PARAMS, SERVER_ERROR, InvalidParam, JsonRpcError


class _Required:
    """The type of `REQUIRED`: the parameter has no default, not even None."""

    @override
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter.

    `parse` takes the decoded JSON value (never None) and returns the argument, or raises
    `InvalidParam`. `default` is the argument used when the value is missing or null; without one
    the parameter is required.
    """

    name: str
    parse: Callable[[Any], Any]
    default: Any = REQUIRED

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is REQUIRED


def bind_positional(params: Sequence[Param], values: Sequence[Any]) -> list[Any]:
    """Bind a JSON array to arguments, checked from left to right as in geth.

    Raises:
        JsonRpcError: -32602 with the position of the argument, counted from 0.
    """
    arguments: list[Any] = []
    try:
        for param, value in zip(params, values, strict=False):
            if value is not None:
                arguments.append(param.parse(value))
            elif param.default is REQUIRED:
                raise _missing(len(arguments))
            else:
                arguments.append(param.default)
    except InvalidParam as error:
        text = f"invalid argument {len(arguments)}: {error.text}"
        raise JsonRpcError(INVALID_PARAMS, text) from error
    count, expected = len(values), len(params)
    if count > expected:
        raise JsonRpcError(INVALID_PARAMS, f"too many arguments, want at most {expected}")
    for param in params[count:]:
        if param.default is REQUIRED:
            raise _missing(len(arguments))
        arguments.append(param.default)
    return arguments


def bind_named(params: Sequence[Param], members: dict[str, Any]) -> list[Any]:
    """Bind a JSON object to arguments, ignoring letter case and unknown names; null counts as absent.

    Raises:
        JsonRpcError: -32000; an unreadable argument is not named (pchain.md 8.1).
    """
    by_name = {name.lower(): value for name, value in members.items() if value is not None}
    arguments = []
    for param in params:
        value = by_name.get(param.name.lower())
        if value is None:
            if param.default is REQUIRED:
                raise JsonRpcError(SERVER_ERROR, f"argument '{param.name}' not given")
            arguments.append(param.default)
            continue
        try:
            arguments.append(param.parse(value))
        except InvalidParam as error:
            raise unreadable_argument() from error
    return arguments


def unreadable_argument() -> JsonRpcError:
    """Return the reference's only error message for params of the wrong form."""
    return JsonRpcError(
        SERVER_ERROR,
        "couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. "
        "See documentation for example calls",
    )


def _missing(place: int) -> JsonRpcError:
    return JsonRpcError(INVALID_PARAMS, f"missing value for required argument {place}")
