"""Times and rates in the formats of callers."""

import pytest

from platform_app.config import DAY, reference_config
from platform_app.wallet.errors import WalletError, WalletReason
from platform_app.wallet.requirements import shares_of, verify_start
from tests.builders.platform import CONFIG, NOW
from tests.builders.reasons import raises


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
def test_what_is_no_percentage_is_refused(rate: float) -> None:
    with raises(WalletReason.RATE_OUT_OF_RANGE, kind=WalletError) as refused:
        shares_of(rate)

    assert str(refused.value) == (
        "argument 'delegationFeeRate' must be between 0 and 100, inclusive"
    )
