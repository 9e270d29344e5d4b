"""The page about gas: suggested fees, and base fees, utilisation and tips of the latest blocks."""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from django.http import HttpRequest, HttpResponse, JsonResponse

from cchain_app.selectors import blocks
from explorer_app.selectors.fees import PERCENTILES, FeesOfBlock, latest_fees
from explorer_app.site import Explorer
from explorer_app.views.charts import LargeChart
from explorer_app.views.page import cchain_page, rendered

_GWEI: Final = 10**9
_LISTED: Final = 25
_TRANSFER_GAS: Final = 21_000
_OPTIONS: Final = b'{"jsonrpc":"2.0","id":1,"method":"eth_suggestPriceOptions","params":[]}'


class SuggestedFee(NamedTuple):
    """A suggestion for the next blocks."""

    name: str
    tip: int
    """Wei per gas."""
    maximum: int
    """Wei per gas."""
    transfer: int
    """Fee of a transfer of coins at the current base fee, in wei."""


class _Option(msgspec.Struct, rename="camel"):
    max_priority_fee_per_gas: str
    max_fee_per_gas: str


class _Options(msgspec.Struct):
    result: dict[str, _Option] = {}


_SERIES: Final[dict[str, tuple[str, Callable[[FeesOfBlock], float | None]]]] = {
    "base": ("Base fee in Gwei", lambda block: (block.fees.base_fee or 0) / _GWEI),
    "used": ("Gas used, in percent of the limit", lambda block: 100 * block.utilisation),
    "median": ("Tip in Gwei, median of the block's gas", lambda block: _tip(block, 1)),
    "high": ("Tip in Gwei, 90th percentile", lambda block: _tip(block, 2)),
}


@cchain_page
def gas(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show suggested fees, and charts and a table of the latest blocks."""
    found = latest_fees(site.evm)
    base_fee = blocks.base_fee_after(site.evm, blocks.head(site.evm))
    context: dict[str, Any] = {
        "section": "gas",
        "base_fee": base_fee,
        "suggestions": _suggestions(site, base_fee or 0),
        "block_count": len(found),
        "gas_used": sum(block.fees.gas_used for block in found),
        "gas_limit": sum(block.fees.gas_limit for block in found),
        "burned": sum(block.burned for block in found),
        "charts": [
            LargeChart(name, title, _points(found, value)[1])
            for name, (title, value) in _SERIES.items()
        ],
        "percentiles": [f"{percentile:g} %" for percentile in PERCENTILES],
        "rows": found[-_LISTED:][::-1],
    }
    return rendered(site, request, "gas.html", context)


@cchain_page
def gas_figures(site: Explorer, _request: HttpRequest) -> HttpResponse:
    """Return the figures of the latest blocks for the charts: heights, and a value for each."""
    found = latest_fees(site.evm)
    return JsonResponse({name: _points(found, value) for name, (_, value) in _SERIES.items()})


def _points(
    found: Sequence[FeesOfBlock], value: Callable[[FeesOfBlock], float | None]
) -> tuple[list[int], list[float]]:
    """Return heights and values of the blocks that have a value."""
    points = [
        (block.fees.number, number) for block in found if (number := value(block)) is not None
    ]
    return [height for height, _ in points], [number for _, number in points]


def _tip(block: FeesOfBlock, place: int) -> float | None:
    return None if block.tips is None else block.tips[place] / _GWEI


def _suggestions(site: Explorer, base_fee: int) -> list[SuggestedFee]:
    """Return what eth_suggestPriceOptions suggests; empty if it fails, as on a fork without its remote node."""
    answer = site.rpc().dispatcher.answer(_OPTIONS)
    assert answer is not None  # the request has an id
    options = msgspec.json.decode(answer, type=_Options).result
    return [
        SuggestedFee(
            name.capitalize(),
            (tip := int(option.max_priority_fee_per_gas, 16)),
            int(option.max_fee_per_gas, 16),
            _TRANSFER_GAS * (base_fee + tip),
        )
        for name, option in options.items()
    ]
