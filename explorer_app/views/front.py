"""The front page: heads, latest blocks and transactions, charts, validators and health."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from json import dumps
from typing import Any, Final, NamedTuple

from django.http import HttpRequest, HttpResponse

from adminkit.formats import (
    cut_decimals,
    format_age,
    format_time,
    format_units,
    format_whole,
)
from cchain_app.selectors import figures
from explorer_app.selectors import cchain, platform, staking, xchain
from explorer_app.selectors.cchain import CHARTED, BlockRow
from explorer_app.site import Explorer
from explorer_app.views.cchain import transaction_rows
from explorer_app.views.page import page, rendered
from health_app.result import CheckResult
from primitives.counting import counted

_LISTED: Final = 8
_GWEI: Final = 10**9
_MAX_MESSAGE: Final = 300

_ACTIONS: Final = {
    "C": "Check the log and the free disk space. Restart the node if no blocks arrive.",
    "P": "Check the share of connected stake and the log. Restart the node if no blocks arrive.",
    "X": "Check the log and the free disk space. Restart the node if no blocks arrive.",
    "bootstrapped": "Wait until the node has fetched the missing blocks. Check its peers if the heights do not change.",
    "network": "Check the firewall, the staking port (9651), bandwidth and latency.",
    "router": "Send fewer API requests, or add processors to the node.",
}
"""Recommended actions for an operator, by check: specification 7."""


class CheckText(NamedTuple):
    """The result of a health check as text."""

    name: str
    passes: bool
    message: str
    action: str


class Chart(NamedTuple):
    """A small chart: its title, its latest value as text, and all values, oldest first."""

    title: str
    latest: str
    values: Sequence[float]
    label: str
    texts: Sequence[str]
    """Each value as text, with its block, time or validator; shown at the pointer."""
    top: str
    """The largest value as text. Zero is at the bottom."""
    ends: tuple[str, str]
    """Labels of the first and the last value."""


@page
def front(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the state of the chains, and the latest blocks and transactions."""
    checks = [_check(name, result) for name, result in site.health().checks.items()]
    context: dict[str, Any] = {
        "checks": checks,
        "failing": [check.name for check in checks if not check.passes],
        "bootstrap": _bootstrap(site),
        **(_evm(site) if site.has_evm else {}),
        **(_others(site) if site.is_of_cchain else {"blockchain_id": str(site.evm.blockchain_id)}),
    }
    context["charts"] = [*context.get("evm_charts", ()), *context.get("platform_charts", ())]
    return rendered(site, request, "front.html", context)


def _others(site: Explorer) -> dict[str, Any]:
    """Return the parts of the P-Chain and the X-Chain, which the front page of another EVM chain does not have."""
    return {**_platform(site), **(_xchain(site) if site.has_xchain else {})}


def _evm(site: Explorer) -> dict[str, Any]:
    rows = cchain.blocks(site.evm, count=CHARTED)
    head = figures.head(site.evm)
    return {
        "head": head,
        "blocks": rows[:_LISTED],
        "txs": transaction_rows(site, cchain.transactions(site.evm, count=_LISTED)),
        "evm_charts": _block_charts(rows),
    }


def _xchain(site: Explorer) -> dict[str, Any]:
    tip = site.avm.tip()
    return {
        "xchain_head": {"height": tip.height, "time": tip.timestamp},
        "xchain_txs": xchain.txs(site.avm, count=_LISTED) if tip.height else (),
    }


def _block_charts(rows: Sequence[BlockRow]) -> list[Chart]:
    """Return charts of the last blocks, which are given with the latest first."""
    ordered = rows[::-1]
    if not ordered:
        return []
    times = [(later, later.timestamp - earlier.timestamp) for earlier, later in pairwise(ordered)]
    return [
        _chart("Transactions per block", [(block, block.transaction_count) for block in ordered], lambda count: f"{count:,}"),
        _chart("Gas used", [(block, 100 * block.gas_used / block.gas_limit) for block in ordered], lambda share: f"{share:.1f} %"),
        _chart("Base fee", [(block, block.base_fee or 0) for block in ordered], lambda wei: _gwei(int(wei))),
        _chart("Time between blocks", times, lambda seconds: format_age(int(seconds))),
    ]  # fmt: skip


def _chart(
    title: str, points: Sequence[tuple[BlockRow, float]], text: Callable[[float], str]
) -> Chart:
    """Return a chart of values by block, oldest first; its title names the latest value."""
    texts = [f"Block {block.number:,}: {text(value)}" for block, value in points]
    values = [value for _, value in points]
    latest = text(values[-1]) if values else "–"
    blocks = counted(len(points), "block")
    return Chart(
        title,
        latest,
        values,
        f"{title}, the last {blocks}",
        texts,
        text(max(values)) if values else "",
        (f"#{points[0][0].number:,}", f"#{points[-1][0].number:,}") if points else ("", ""),
    )


def _gwei(wei: int) -> str:
    return f"{cut_decimals(format_units(wei, _GWEI))} Gwei"


def _platform(site: Explorer) -> dict[str, Any]:
    chain = site.platform
    unit = chain.network().unit
    tip = chain.tip()
    rows = staking.validators(chain)
    total = sum(row.stake for row in rows)
    points = staking.stake_over_time(chain)[-CHARTED:]
    ranked = sorted((row.uptime, row.node) for row in rows if row.uptime is not None)
    weighted = sum(row.stake * row.uptime for row in rows if row.uptime is not None)
    observed_stake = sum(row.stake for row in rows if row.uptime is not None)
    uptime = f"{100 * weighted / observed_stake:.1f} %" if observed_stake else "–"
    return {
        "unit": unit,
        "platform_head": {"height": tip.height, "time": tip.timestamp},
        "platform_txs": platform.txs(chain, count=_LISTED),
        "validators": rows[:_LISTED],
        "total": total,
        "platform_charts": [
            Chart(
                f"Stake of {counted(len(rows), 'validator')}",
                f"{format_whole(total, unit)} {site.node.coin_symbol}",
                [point.value for point in points],
                "Stake after each recent change",
                [
                    f"{format_time(point.time)}: {format_whole(point.value, unit)}"
                    for point in points
                ],
                format_whole(max((point.value for point in points), default=0), unit),
                _ends(points[0].time, points[-1].time) if points else ("", ""),
            ),
            Chart(
                "Uptime by stake",
                uptime,
                [share for share, _ in ranked],
                "Uptime of each validator, lowest first",
                [f"{node_id}: {_percent(share)}" for share, node_id in ranked],
                _percent(ranked[-1][0]) if ranked else "",
                ("lowest", "highest"),
            ),
        ],
    }


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _ends(first: int, last: int) -> tuple[str, str]:
    """Return the first and the last time of a chart: days in UTC, or times of the same day."""
    begun, ended = (datetime.fromtimestamp(seconds, UTC) for seconds in (first, last))
    if begun.date() == ended.date():
        first_time, last_time = f"{begun:%H:%M}", f"{ended:%H:%M}"
        return first_time if first_time != last_time else "", f"{last_time} UTC"
    return f"{begun.day} {begun:%b}", f"{ended.day} {ended:%b}"


def _check(name: str, result: CheckResult) -> CheckText:
    message = result.error or _short(result.message)
    return CheckText(
        name, result.healthy, message[:_MAX_MESSAGE], _ACTIONS.get(name, "Check the log.")
    )


def _short(message: object) -> str:
    return message if isinstance(message, str) else dumps(message, default=str)


def _bootstrap(site: Explorer) -> str:
    """Return the progress of bootstrapping as text; empty if it is not running."""
    progress = site.evm.progress if site.has_evm else None
    return f"block {progress.current:,} of {progress.highest:,}" if progress else ""
