"""Pages of validators: the Primary Network and subnets, a single validator, the next ends of stakes, and supply."""

from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse

from adminkit.terms import read_term
from explorer_app.selectors import platform, staking
from explorer_app.site import Explorer
from explorer_app.views.page import page, read_number, rendered, shown_of
from platform_app.selectors import stakers
from primitives.ids import PRIMARY_NETWORK_ID

MAX_ROWS: Final = 100
"""Limit of rows in a list of validators."""

_NO_NODE_ID: Final = "Not a node ID. A node ID is NodeID- followed by a CB58 string."
_NO_VALIDATOR: Final = "No node with this ID has ever been a validator."
_NO_SUBNET: Final = "There is no subnet with this ID."


@page
def validators(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the current validators of the Primary Network by stake, starting at a rank (`?after=`)."""
    return _validators(site, request, "validators.html", {"section": "validators"})


@page
def validator(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show a node: its current validation, its delegators, and its earlier staking periods."""
    node_id = read_term(text).node_id
    if node_id is None:
        raise Http404(_NO_NODE_ID)
    periods = staking.periods(site.platform, node_id, delegators=False, count=MAX_ROWS)
    if not periods:
        raise Http404(_NO_VALIDATOR)
    rows = {row.validator.node_id: row for row in staking.validators(site.platform)}
    context = {
        "section": "validators",
        "node": str(node_id),
        "looked_at": str(node_id),
        "current": rows.get(node_id),
        "is_own": str(node_id) == site.node_id(),
        "total": stakers.current_validators(site.platform).weight,
        "periods": periods,
        "delegators": staking.periods(site.platform, node_id, delegators=True, count=MAX_ROWS),
        "unit": site.platform.network().unit,
    }
    return rendered(site, request, "validator.html", context)


@page
def calendar(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the stakers whose periods end next, with their rewards, starting at an offset (`?after=`)."""
    after = read_number(request.GET.get("after")) or 0
    stakers_by_end = staking.ending(site.platform, after=after, count=staking.PAGE + 1)
    rows, goes_on = shown_of(stakers_by_end, staking.PAGE)
    context = {
        "section": "validators",
        "rows": rows,
        "older": f"after={after + len(rows)}" if goes_on else "",
        "newest": "after=0" if after else "",
        "unit": site.platform.network().unit,
    }
    return rendered(site, request, "calendar.html", context)


@page
def supply(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show supply and stake over time."""
    context = {
        "section": "validators",
        "supply": staking.supply(site.platform),
        "stake": stakers.current_validators(site.platform).weight,
        "stake_points": staking.stake_over_time(site.platform),
        "supply_points": staking.supply_over_time(site.platform),
        "unit": site.platform.network().unit,
    }
    return rendered(site, request, "supply.html", context)


@page
def supply_figures(site: Explorer, _request: HttpRequest) -> HttpResponse:
    """Return supply and stake over time for the chart: times in Unix seconds, amounts in coins."""
    unit = site.platform.network().unit
    series = {
        "supply": staking.supply_over_time(site.platform),
        "stake": staking.stake_over_time(site.platform),
    }
    return JsonResponse(
        {
            name: [[point.time for point in points], [point.value / unit for point in points]]
            for name, points in series.items()
        }
    )


@page
def subnets(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the subnets, and the blockchains of the Primary Network."""
    context = {
        "section": "subnets",
        "subnets": platform.subnets(site.platform),
        "chains": platform.blockchains(site.platform, PRIMARY_NETWORK_ID),
    }
    return rendered(site, request, "subnets.html", context)


@page
def subnet(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show a subnet: its control keys, its blockchains, and its validators starting at a rank (`?after=`)."""
    subnet_id = read_term(text).id
    row = None if subnet_id is None else platform.subnet(site.platform, subnet_id)
    if row is None or subnet_id is None:
        raise Http404(_NO_SUBNET)
    context = {
        "section": "subnets",
        "subnet": row,
        "looked_at": str(subnet_id),
        "keys": platform.control_keys(site.platform, subnet_id),
        "chains": platform.blockchains(site.platform, subnet_id),
    }
    return _validators(site, request, "subnet.html", context, subnet_id)


def _validators(
    site: Explorer,
    request: HttpRequest,
    template: str,
    context: dict[str, Any],
    subnet_id: Any = PRIMARY_NETWORK_ID,
) -> HttpResponse:
    after = read_number(request.GET.get("after")) or 0
    all_validators = staking.validators(site.platform, subnet_id)
    rows = all_validators[after : after + MAX_ROWS]
    list_context = {
        "validators": rows,
        "count": len(all_validators),
        "total": stakers.current_validators(site.platform, subnet_id).weight,
        "is_subnet": subnet_id != PRIMARY_NETWORK_ID,
        "older": f"after={after + MAX_ROWS}" if after + MAX_ROWS < len(all_validators) else "",
        "newest": "after=0" if after else "",
        "unit": site.platform.network().unit,
    }
    return rendered(site, request, template, {**context, **list_context})
