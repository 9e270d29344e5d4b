"""Requirements for passwords and staking terms."""

import pytest

from platform_app.config import DAY, reference_config
from platform_app.wallet import requirements
from platform_app.wallet.errors import WalletError, WalletReason
from platform_app.wallet.requirements import (
    MAX_READINGS,
    MAX_SCORED,
    shares_of,
    verify_password,
    verify_start,
)
from tests.builders.platform import CONFIG, NOW
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
    assert judged("ab" * 40, monkeypatch) == "ab" * (MAX_SCORED // 2)


def test_symbols_with_too_many_readings_are_not_judged_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = judged(EVERY_SYMBOL * 3, monkeypatch)

    assert EVERY_SYMBOL.startswith(part)
    assert requirements._readings(part) <= MAX_READINGS < requirements._readings(part + "1")


@pytest.mark.parametrize("password", [EVERY_SYMBOL, EVERY_SYMBOL[::-1], "|7+5$0%" + EVERY_SYMBOL])
def test_strong_password_is_accepted(password: str) -> None:
    verify_password(password)


@pytest.mark.parametrize("start", [0, NOW + 20, NOW + 14 * DAY])
def test_starts_at_once_and_from_20_seconds_to_two_weeks_ahead_are_taken(start: int) -> None:
    verify_start(start, now=NOW, config=CONFIG)


@pytest.mark.parametrize("start", [1, NOW, NOW + 19])
def test_an_earlier_start_is_refused(start: int) -> None:
    with raises(WalletReason.START_TOO_SOON, kind=WalletError) as refused:
        verify_start(start, now=NOW, config=CONFIG)

    assert str(refused.value) == "start time must be at least 20s in the future"


def test_a_later_start_is_refused() -> None:
    with raises(WalletReason.START_TOO_FAR, kind=WalletError) as refused:
        verify_start(NOW + 14 * DAY + 1, now=NOW, config=CONFIG)

    assert str(refused.value) == "start time is too far in the future"


@pytest.mark.parametrize("start", [0, 1, NOW, NOW + 1, NOW + 30 * DAY])
def test_since_durango_any_start_will_do(start: int) -> None:
    verify_start(start, now=NOW, config=reference_config(12345))


@pytest.mark.parametrize(
    ("rate", "shares"),
    [(0, 0), (2, 20_000), (2.0, 20_000), (2.1, 21_000), (12.5, 125_000), (6.25, 62_500),
     (100, 1_000_000), (33.3333, 333_333), (0.0001, 1), (0.0003, 3), (0.0007, 6)],
)  # fmt: skip
def test_percent_become_millionths_as_floats_of_32_bits_have_them(rate: float, shares: int) -> None:
    assert shares_of(rate) == shares


@pytest.mark.parametrize("rate", [-0.0001, 100.0001, float("nan"), float("inf"), -1, 1e300])
def test_delegation_fee_outside_0_to_100_is_refused(rate: float) -> None:
    with raises(WalletReason.RATE_OUT_OF_RANGE, kind=WalletError) as refused:
        shares_of(rate)

    assert str(refused.value) == (
        "argument 'delegationFeeRate' must be between 0 and 100, inclusive"
    )
