"""The passwords that a new user may have."""

import pytest

from platform_app.wallet import requirements
from platform_app.wallet.errors import WalletError, WalletReason
from platform_app.wallet.requirements import JUDGED, MAX_READINGS, verify_password
from tests.builders.reasons import raises

EVERY_SYMBOL = "4@8({[<369&#!1/|0$5+7%2"
"""All symbols that replace letters; rating such a text as a whole takes seconds."""


@pytest.mark.parametrize(
    "password", ["ewoqvmRQ7Zpm", "correct horse battery", "Пароль из пяти слов", "\ud800 lone half"]
)
def test_a_password_that_takes_long_to_guess_is_taken(password: str) -> None:
    verify_password(password)


@pytest.mark.parametrize(
    "password", ["a", "password", "qwertyuiop", "1234567890!@#$%^&*()", "aaaaaaaaaaaaaaaaaaaaa"]
)
def test_a_password_that_is_guessed_soon_is_refused(password: str) -> None:
    with raises(WalletReason.PASSWORD_TOO_WEAK, kind=WalletError) as refused:
        verify_password(password)

    assert str(refused.value) == "password is too weak"


def test_no_password_is_refused() -> None:
    with raises(WalletReason.EMPTY_PASSWORD, kind=WalletError) as refused:
        verify_password("")

    assert str(refused.value) == "empty password"


def test_a_password_of_1024_bytes_is_taken() -> None:
    verify_password("a long one, " * 85 + "1234")


@pytest.mark.parametrize("password", ["a long one, " * 85 + "12345", "é" * 513])
def test_a_password_of_more_bytes_is_refused(password: str) -> None:
    with raises(WalletReason.PASSWORD_TOO_LONG, kind=WalletError) as refused:
        verify_password(password)

    assert str(refused.value) == "password exceeds maximum length of 1024 chars"


def judged(password: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the part of a password that is rated."""
    seen: list[str] = []

    def score(text: str) -> int:
        seen.append(text)
        return 4

    monkeypatch.setattr(requirements, "_score", score)
    verify_password(password)
    return seen[0]


def test_fifty_characters_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged("ab" * 40, monkeypatch) == "ab" * (JUDGED // 2)


def test_symbols_with_too_many_readings_are_not_judged_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = judged(EVERY_SYMBOL * 3, monkeypatch)

    assert EVERY_SYMBOL.startswith(part)
    assert requirements._readings(part) <= MAX_READINGS < requirements._readings(part + "1")


@pytest.mark.parametrize("password", [EVERY_SYMBOL, EVERY_SYMBOL[::-1], "|7+5$0%" + EVERY_SYMBOL])
def test_what_is_judged_of_them_is_strong_enough(password: str) -> None:
    verify_password(password)
