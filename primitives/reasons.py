"""Errors whose reason is a value: one class for a kind of error, and a named reason for each cause.

A class of its own is worth its lines if something catches it, reads its attributes, or answers a client with its code.
All other causes are members of a `StrEnum`. The value of a member is its message, a template for `str.format`.
"""

from enum import StrEnum

from typing_extensions import override


class ErrorWithReason(Exception):
    """An error with a named reason.

    Args:
        reason: The reason; its value is the template of the message.
        values: The values of the template's fields.
    """

    def __init__(self, reason: StrEnum, **values: object) -> None:
        super().__init__(reason.value.format(**values) if values else reason.value)
        self.reason = reason
        self.values = values

    @override
    def __reduce__(self) -> tuple[object, ...]:
        """Return what pickle calls to make a copy: for processes that report errors to each other."""
        return _made, (type(self), self.reason, self.values)


def error_name(error: BaseException) -> str:
    """Return the name of an error's reason, or of its class: `TOO_LONG` is "TooLong"."""
    if isinstance(error, ErrorWithReason):
        return error.reason.name.title().replace("_", "")
    return type(error).__name__


def _made(
    cls: type[ErrorWithReason], reason: StrEnum, values: dict[str, object]
) -> ErrorWithReason:
    return cls(reason, **values)
