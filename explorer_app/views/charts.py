"""Charts and a table of the chain by day, and the list of accounts by balance."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse

from chaindb import clock
from explorer_app.selectors import staking, statistics
from explorer_app.selectors.statistics import (
    MAX_DAYS,
    PAGE,
    SECONDS_A_DAY,
    RankedBalance,
    SummaryState,
)
from explorer_app.services.statistics import wait_for_summaries
from explorer_app.site import Explorer
from explorer_app.store.statistics import CountedDay
from explorer_app.views.page import cchain_page, page, read_number, rendered, shown_of
from primitives.counting import counted
from primitives.evm import Address

_COIN: Final = 10**18
_LISTED: Final = 30
_LEAST_DAYS: Final = 7
"""A chart has at least so many days, so that those of a new chain are not a single point."""
_OFF: Final = "This node keeps no statistics: NODE_STATISTICS is off."
_ADDRESS_DIGITS: Final = 40
_BALANCE_DIGITS: Final = 78


class LargeChart(NamedTuple):
    """A chart that the script draws large, with its values for pages without scripts."""

    name: str
    """The name of its series in the JSON of the figures."""
    title: str
    values: Sequence[float]


class DayRow(NamedTuple):
    """The figures of one day for the table."""

    date: str
    figures: CountedDay


_SERIES: Final[dict[str, tuple[str, Callable[[CountedDay], float | None]]]] = {
    "transactions": ("Transactions", lambda day: day.transactions),
    "accounts": ("New accounts", lambda day: day.new_accounts),
    "gas": ("Gas used", lambda day: day.gas_used),
    "burned": ("Fees burned", lambda day: day.burned / _COIN),
    "contracts": ("Contracts deployed", lambda day: day.contracts),
}
_IN_COINS: Final = {"burned", "stake"}
STAKE: Final = "stake"

Series = dict[str, tuple[list[int], list[float]]]


@page
def charts(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the figures by day: of the EVM chain, and beside the C-Chain's the stake of the P-Chain."""
    state = wait_for_summaries(site) if site.has_statistics else None
    days = statistics.days(site.evm) if state else []
    series = _series(site, days)
    titles = {name: title for name, (title, _) in _SERIES.items()} | {STAKE: "Staked"}
    symbol = site.evm.coin_symbol
    context: dict[str, Any] = {
        "section": "charts",
        "charts": [
            LargeChart(name, titles[name] + (f", {symbol}" if name in _IN_COINS else ""), values)
            for name, (_, values) in series.items()
        ],
        "rows": [DayRow(_date(day.day), day) for day in days[-_LISTED:][::-1]],
        "how_far": _counted(state) if state else "",
        "max_days": MAX_DAYS,
        "is_off": site.has_evm and state is None,
    }
    return rendered(site, request, "charts.html", context)


@page
def chart_figures(site: Explorer, _request: HttpRequest) -> HttpResponse:
    """Return the figures by day for the charts: the days' starts in Unix seconds, and a value for each."""
    days = statistics.days(site.evm) if site.has_statistics else []
    return JsonResponse(_series(site, days))


@cchain_page
def accounts(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the accounts by balance, after one (`?after=`, its balance and address), with ranks from `?from=`."""
    if not site.has_statistics:
        raise Http404(_OFF)
    state = wait_for_summaries(site)
    after = _read_after(request.GET.get("after"))
    first = 1 if after is None else max(read_number(request.GET.get("from")) or 1, 1)
    found, has_more = shown_of(
        statistics.accounts_by_balance(site.evm, after=after, count=PAGE + 1), PAGE
    )
    last = found[-1] if has_more else None
    context = {
        "section": "accounts",
        "rows": list(enumerate(found, first)),
        "state": state,
        "is_fork": site.evm.fork is not None,
        "how_far": _how_far(state),
        "beginning": "" if after is None else "after=",
        "further": ""
        if last is None
        else f"after={last.balance}-{last.address.hex()}&from={first + len(found)}",
    }
    return rendered(site, request, "accounts.html", context)


def _counted(state: SummaryState) -> str:
    """Return which blocks are missing in the sums; empty if none are."""
    if state.counted >= state.head:
        return ""
    return f"counted up to block {max(state.counted, 0):,} of {state.head:,}"


def _how_far(state: SummaryState) -> str:
    """Return what is missing in the list; empty if nothing is."""
    if not state.has_all_accounts:
        return f"{counted(state.accounts, 'account')} so far: the others are still being listed"
    if state.copied < state.head:
        return f"as of block {state.copied:,} of {state.head:,}"
    return ""


def _read_after(text: str | None) -> RankedBalance | None:
    balance, _, address = (text or "").partition("-")
    if not (balance.isdecimal() and balance.isascii() and len(balance) <= _BALANCE_DIGITS):
        return None
    try:
        key = bytes.fromhex(address)
    except ValueError:
        return None
    return RankedBalance(Address(key), int(balance)) if len(address) == _ADDRESS_DIGITS else None


def _series(site: Explorer, days: Sequence[CountedDay]) -> Series:
    today = clock.now() // SECONDS_A_DAY
    made: Series = {}
    if days:
        by_day = {day.day: day for day in days}
        last = max(today, days[-1].day)
        first = max(min(days[0].day, last - _LEAST_DAYS + 1), last - MAX_DAYS + 1)
        for name, (_, value) in _SERIES.items():
            made[name] = _filled(by_day, range(first, last + 1), value)
    if site.is_of_cchain:
        made[STAKE] = _stake(site, today)
    return made


def _filled(
    by_day: dict[int, CountedDay], shown: range, value: Callable[[CountedDay], float | None]
) -> tuple[list[int], list[float]]:
    """Return the days' starts and values: zero for a day without blocks, none for a day that is not known."""
    points = [(day, value(by_day[day]) if day in by_day else 0) for day in shown]
    known = [(day * SECONDS_A_DAY, number) for day, number in points if number is not None]
    return [time for time, _ in known], [number for _, number in known]


def _stake(site: Explorer, today: int) -> tuple[list[int], list[float]]:
    """Return the stake at the end of each of the last days, as far back as its changes are read."""
    unit = site.platform.network().unit
    points = staking.stake_over_time(site.platform)
    at_end = {point.time // SECONDS_A_DAY: point.value for point in points}
    if not at_end:
        return [], []
    last = max(today, *at_end)
    first = max(min(at_end), last - MAX_DAYS + 1)
    if len(points) < staking.MAX_POINTS:  # these are all changes: before them nothing was staked
        first = min(first, last - _LEAST_DAYS + 1)
    value = next((at_end[day] for day in sorted(at_end, reverse=True) if day < first), 0)
    times: list[int] = []
    values: list[float] = []
    for day in range(first, last + 1):
        value = at_end.get(day, value)
        times.append(day * SECONDS_A_DAY)
        values.append(value / unit)
    return times, values


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * SECONDS_A_DAY, UTC).date().isoformat()
