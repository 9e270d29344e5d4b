"""Expects an error by its reason."""

from contextlib import AbstractContextManager
from enum import StrEnum
from types import TracebackType

import pytest
from typing_extensions import override

from primitives.reasons import ErrorWithReason


class raises(AbstractContextManager[pytest.ExceptionInfo[ErrorWithReason]]):  # noqa: N801  # like pytest.raises
    """Expects an error with exactly this reason.

    It is no generator: the error's traceback would contain its frame, and with it the error, so that whatever the
    traceback keeps alive, such as a cursor, would be closed only by the garbage collection.

    Args:
        reason: The reason.
        kind: The class, or a parent of it.
        match: A regular expression that the message contains, as in `pytest.raises`.
    """

    def __init__(
        self,
        reason: StrEnum,
        *,
        kind: type[ErrorWithReason] = ErrorWithReason,
        match: str | None = None,
    ) -> None:
        self._reason = reason
        self._raises = pytest.raises(kind, match=match)

    @override
    def __enter__(self) -> pytest.ExceptionInfo[ErrorWithReason]:
        return self._raises.__enter__()

    @override
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        caught = self._raises.__exit__(kind, error, traceback)
        if caught:
            assert isinstance(error, ErrorWithReason)
            assert error.reason is self._reason
        return caught


def reason_of(outcome: object) -> object:
    """Return the reason of an error that has one, else the class: for tables that mix outcomes."""
    return outcome.reason if isinstance(outcome, ErrorWithReason) else type(outcome)
