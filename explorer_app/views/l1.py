"""Pages of L1 validators: those whose balances run out next, and one validator. An L1 itself is a subnet's page."""

from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse

from adminkit.terms import read_term
from explorer_app.selectors import l1
from explorer_app.site import Explorer
from explorer_app.views.page import page, read_number, rendered, shown_of
from primitives.evm import Address
from primitives.hexadecimal import checksum_address
from primitives.ids import ID

ADDRESS_SIZE: Final = 20
_NO_VALIDATION: Final = "No L1 has ever had a validator with this validation ID."


@page
def l1_validators(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the active validators of all L1s in the order in which their balances run out (`?after=`, an offset)."""
    after = read_number(request.GET.get("after")) or 0
    found = l1.next_to_end(site.platform, after=after, count=l1.PAGE + 1)
    rows, has_more = shown_of(found, l1.PAGE)
    context = {
        "section": "subnets",
        "validations": rows,
        "count": l1.active_count(site.platform),
        "price": l1.price(site.platform),
        "older": f"after={after + len(rows)}" if has_more else "",
        "newest": "after=0" if after else "",
        "unit": site.platform.network().unit,
    }
    return rendered(site, request, "l1_validators.html", context)


@page
def l1_validator(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show a validator of an L1: its balance, the time when it runs out, its owners, its weights, its messages."""
    validation_id = read_term(text).id
    found = None if validation_id is None else l1.validation(site.platform, validation_id)
    if found is None or validation_id is None:
        raise Http404(_NO_VALIDATION)
    context = {
        "section": "subnets",
        "found": found,
        "owners": l1.owners(site.platform, found.row),
        "price": l1.price(site.platform),
        "weights": l1.weights(site.platform, validation_id),
        "statements": l1.validation_statements(site.platform, found.row),
        "looked_at": str(validation_id),
        "unit": site.platform.network().unit,
    }
    return rendered(site, request, "l1_validator.html", context)


def of_subnet(site: Explorer, subnet_id: ID, *, after: int) -> dict[str, Any]:
    """Return the L1's part of a subnet page's context; empty if the subnet is not an L1."""
    chain = site.platform
    converted = l1.conversion(chain, subnet_id)
    if converted is None:
        return {}
    found = l1.validators(chain, subnet_id, after=after, count=l1.PAGE + 1)
    rows, has_more = shown_of(found, l1.PAGE)
    manager = bytes(converted.manager_address)
    has_page = site.has_evm and len(manager) == ADDRESS_SIZE
    on_cchain = ID(converted.manager_chain_id) == chain.network().c_chain_id
    found_chain = None if on_cchain else site.find(str(converted.manager_chain_id))
    return {
        "conversion": converted,
        "is_on_cchain": on_cchain,
        "manager_account": manager if on_cchain and has_page else None,
        **_manager_on(found_chain, manager),
        "validations": rows,
        "weight": chain.state().l1_validators.total_weight(subnet_id),
        "price": l1.price(chain),
        "statement": l1.conversion_statement(chain, converted),
        "l1_older": f"after={after + len(rows)}" if has_more else "",
        "l1_newest": "after=0" if after else "",
    }


def _manager_on(site: Explorer | None, manager: bytes) -> dict[str, Any]:
    """Return the page of a validator manager on a subnet's chain; empty if this node does not run the chain."""
    if site is None or len(manager) != ADDRESS_SIZE:
        return {}
    text = str(checksum_address(Address(manager)))
    return {
        "manager_url": site.pages.reverse("explorer:address", [text]),
        "manager_chain": site.evm.title,
    }
