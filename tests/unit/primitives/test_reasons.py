"""Errors with a reason."""

import pickle
from enum import StrEnum

import pytest

from primitives.reasons import ErrorWithReason, error_name
from tests.builders.reasons import raises


class Cause(StrEnum):
    TOO_LONG = "too long: {size} > {limit}"
    BRACES = "expected {}"


class InvalidThing(ErrorWithReason):
    """An error of one kind."""


def test_the_message_is_the_template_with_its_values() -> None:
    error = InvalidThing(Cause.TOO_LONG, size=7, limit=5)
    assert str(error) == "too long: 7 > 5"
    assert error.reason is Cause.TOO_LONG
    assert error.values == {"size": 7, "limit": 5}


def test_message_without_values_keeps_its_braces() -> None:
    assert str(InvalidThing(Cause.BRACES)) == "expected {}"


def test_a_copy_of_another_process_is_equal() -> None:
    error = pickle.loads(pickle.dumps(InvalidThing(Cause.TOO_LONG, size=7, limit=5)))
    assert type(error) is InvalidThing
    assert (str(error), error.reason) == ("too long: 7 > 5", Cause.TOO_LONG)


def test_reasons_have_class_like_names() -> None:
    assert error_name(InvalidThing(Cause.TOO_LONG, size=7, limit=5)) == "TooLong"
    assert error_name(KeyError("x")) == "KeyError"


def test_unexpected_reason_does_not_match() -> None:
    with pytest.raises(AssertionError), raises(Cause.BRACES):
        raise InvalidThing(Cause.TOO_LONG, size=7, limit=5)
