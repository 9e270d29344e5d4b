"""Expects an error by its reason."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

import pytest

from primitives.reasons import ErrorWithReason


@contextmanager
def raises(
    reason: StrEnum, *, kind: type[ErrorWithReason] = ErrorWithReason, match: str | None = None
) -> Iterator[pytest.ExceptionInfo[ErrorWithReason]]:
    """Expect an error with exactly this reason.

    Args:
        reason: The reason.
        kind: The class, or a parent of it.
        match: A regular expression that the message contains, as in `pytest.raises`.
    """
    with pytest.raises(kind, match=match) as found:
        yield found
    assert found.value.reason is reason


def reason_of(outcome: object) -> object:
    """Return the reason of an error that has one, else the class: for tables that mix outcomes."""
    return outcome.reason if isinstance(outcome, ErrorWithReason) else type(outcome)
