"""Auto-renewed validators on the page of a validator: the terms of the renewal, and finished periods."""

from collections.abc import Sequence
from typing import Final

from django.utils.safestring import SafeString

from adminkit.formats import format_duration
from platform_app.admin import display
from platform_app.apps import platform_chain
from platform_app.models import AutoRenewedValidator, RenewedPeriod, Staker
from platform_app.selectors import auto_renewal
from platform_app.store import rows

MAX_PERIODS: Final = 50
"""The maximum number of finished periods that are shown."""


def terms_of(staker: Staker) -> AutoRenewedValidator | None:
    """Return the terms of a validator's renewal; None if it leaves at its end."""
    return auto_renewal.terms_of(platform_chain(), staker.pk)


def show_next(terms: AutoRenewedValidator) -> SafeString | str:
    """Return the length of the next period."""
    if terms.next_period == 0:
        return display.muted("none: it leaves at the end of this period")
    return format_duration(terms.next_period)


def show_restaked(terms: AutoRenewedValidator) -> SafeString:
    """Return the restaked rewards, which are part of the stake."""
    return display.side_by_side(
        display.full_amount(terms.accrued_validation_rewards),
        display.muted("and from delegators"),
        display.full_amount(terms.accrued_delegatee_rewards),
    )


def show_authority(terms: AutoRenewedValidator) -> SafeString:
    """Return the keys that may change the terms."""
    return display.full_signers(rows.owners_of(bytes(terms.authority)))


def periods_of(staker: Staker) -> list[RenewedPeriod]:
    """Return finished periods that another one followed, the latest first: one more than are shown, if there are."""
    return auto_renewal.renewed_periods(platform_chain(), [staker.pk], count=MAX_PERIODS + 1)


def with_limit(shown: SafeString, count: int) -> SafeString:
    """Return the content of a field about periods, with a note if it leaves out earlier ones.

    Args:
        shown: The content, of at most `MAX_PERIODS` periods.
        count: The number of periods that were read.
    """
    if count <= MAX_PERIODS:
        return shown
    note = "Earlier periods are left out; the SQL views p_renewed_periods and p_rewards have all."
    return display.one_per_line(shown, display.muted(note))


def show_periods(periods: Sequence[RenewedPeriod]) -> SafeString:
    """Return the latest finished periods as a table."""
    if not periods:
        return display.NOTHING
    headings = ("From", "To", "Stake", "Reward", "From delegators", "Uptime", "Ended in block")
    return with_limit(display.table(headings, map(_cells, periods[:MAX_PERIODS])), len(periods))


def _cells(period: RenewedPeriod) -> tuple[object, ...]:
    seconds = period.end_time - period.start_time
    return (
        display.moment(period.start_time),
        display.moment(period.end_time),
        display.full_amount(period.weight),
        display.full_amount(period.potential_reward),
        display.full_amount(period.delegatee_reward),
        display.format_fraction(min(1.0, period.up_duration / seconds)),
        display.block_link(period.left_height),
    )
