"""Forms of the local network's operators: the creation of an L1, how far it is, and its deletion."""

import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from django import forms
from django.contrib.admin.models import ADDITION, DELETION
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from typing_extensions import override

from adminkit.actions import log_action
from adminkit.terms import read_term
from explorer_app.managers.contract import MANAGER_ADDRESS, ManagerKind
from explorer_app.managers.ports import AnotherAtWork
from explorer_app.selectors.chains import deleted
from explorer_app.selectors.platform import blockchains
from explorer_app.services import l1_creation, l1_deletion
from explorer_app.services.l1_creation import L1Creation
from explorer_app.services.l1_deletion import NotDeleted
from explorer_app.services.l1_node import NotCreated
from explorer_app.services.l1_terms import (
    MAX_NAME,
    PAYER,
    SHARE,
    L1Terms,
    genesis_of,
    hash_of,
    read_validator,
    with_manager,
)
from explorer_app.site import Explorer
from explorer_app.store import l1_requests
from explorer_app.store.l1_requests import L1RequestRow
from explorer_app.views.page import admin_page, rendered
from primitives import uint64
from primitives.hexadecimal import checksum_address
from primitives.ids import ID, PRIMARY_NETWORK_ID
from primitives.networks import LOCAL

_FIRST_CHAIN_ID: Final = 9_001
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}")
_NOT_LOCAL: Final = "Only a local network has public keys with coins for the creation of an L1."
_KINDS: Final = (
    (ManagerKind.AUTHORITY.value, "Proof of authority: the owner decides"),
    (ManagerKind.STAKE.value, "Proof of stake: anyone stakes coins"),
)

_log: Final = logging.getLogger(__name__)


class L1Form(forms.Form):
    """The terms of a new L1."""

    name = forms.CharField(max_length=MAX_NAME, help_text="Letters, digits and spaces")
    chain_id = forms.IntegerField(
        min_value=1, max_value=uint64.MAX, required=False, label="EVM chain ID"
    )
    manager = forms.ChoiceField(choices=_KINDS, label="Validators")
    owner = forms.CharField(
        max_length=42, help_text="Gets the chain's coins, and owns the validator manager"
    )
    weight = forms.IntegerField(
        min_value=SHARE, max_value=uint64.MAX, help_text="The second validator gets a fifth of it"
    )
    balance = forms.DecimalField(
        min_value=0, max_digits=20, decimal_places=9, label="Balance of each validator"
    )
    validator = forms.CharField(
        required=False,
        max_length=500,
        label="Second validator",
        help_text="NodeID-…/0x<BLS key>/0x<proof of possession>; empty: this node makes its keys",
    )
    genesis = forms.CharField(
        required=False,
        strip=False,
        widget=forms.Textarea({"rows": 4}),
        label="Genesis file",
        help_text="In place of an EVM chain ID. It needs a warpConfig, and coins for the account that pays",
    )

    def clean_owner(self) -> str:
        """Return the address."""
        text: str = self.cleaned_data["owner"]
        if not _ADDRESS.fullmatch(text):
            raise forms.ValidationError("An address has 0x and 40 hexadecimal digits.")
        return text

    def clean_validator(self) -> str:
        """Return the second validator as it was written."""
        text: str = self.cleaned_data["validator"]
        if text:
            try:
                read_validator(text)
            except ValueError as error:
                raise forms.ValidationError(f"{error}.") from None
        return text

    @override
    def clean(self) -> None:
        given = self.cleaned_data
        if not given.get("genesis") and "chain_id" in given and given["chain_id"] is None:
            self.add_error("chain_id", "An EVM chain ID or a genesis file is needed.")

    def terms(self, unit: int) -> L1Terms:
        """Return the terms in valid input; `unit` is the number of smallest units in a coin."""
        given = self.cleaned_data
        genesis = given["genesis"].replace("\r\n", "\n")
        return L1Terms(
            name=given["name"],
            chain_id=0 if genesis else given["chain_id"],
            owner=given["owner"],
            manager=given["manager"],
            weight=given["weight"],
            balance=int(given["balance"] * unit),
            validator=given["validator"],
            genesis_hash=hash_of(genesis) if genesis else "",
        )


class OwnL1(NamedTuple):
    """An L1 of this network that this node may delete, or whose creation it has begun."""

    title: str
    subnet_id: ID | None
    request: L1RequestRow | None
    """Of its creation, if that was begun here."""
    is_deleted: bool


@admin_page
def new_l1(site: Explorer, request: HttpRequest) -> HttpResponse:
    """Show the form of a new L1; for a POST begin to create it, and redirect to its page."""
    _verify_local(site)
    form = L1Form(request.POST) if request.method == "POST" else L1Form(initial=_initial(site))
    if form.is_bound and form.is_valid():
        try:
            name = _begin(site, form)
        except NotCreated as error:
            form.add_error(None, f"{str(error)[:1].upper()}{str(error)[1:]}.")
        else:
            _go_on(site, name)
            sentence = f"The creation of the L1 {name} was begun."
            log_action(request, ADDITION, name, sentence, key="")
            return HttpResponseRedirect(reverse("explorer:own-l1", args=[name]))
    context = {
        "section": "chains",
        "form": form,
        "begun": l1_requests.unfinished(site.platform.db),
        "payer": checksum_address(PAYER),
    }
    status = HTTPStatus.BAD_REQUEST if form.errors else HTTPStatus.OK
    return rendered(site, request, "l1_new.html", context, status)


@admin_page
def own_l1(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show how far the creation of an L1 is; for a POST continue it, or delete the L1.

    The L1 is named by the name of its creation, or by the ID of its subnet. Subnets that are no L1s can be deleted too.
    """
    _verify_local(site)
    found = _found(site, text)
    error = ""
    if request.method == "POST":
        if request.POST.get("action") == "delete":
            error = _delete(site, found)
            if not error:
                log_action(request, DELETION, found.title, "The L1 was deleted.", key="")
                return HttpResponseRedirect(reverse("explorer:chains"))
        elif found.request is not None:
            _go_on(site, found.request.name)
            return HttpResponseRedirect(request.get_full_path())
    row = found.request
    is_busy = _is_busy(site)
    chains = [] if found.subnet_id is None else blockchains(site.platform, found.subnet_id)
    context = {
        "section": "chains",
        "found": found,
        "row": row,
        "chains": chains,
        "is_running": row is not None and row.state == l1_requests.UNFINISHED and is_busy,
        "is_open": row is not None and not row.is_done and not is_busy,
        "error": error,
        "manager": _manager(row),
        "keys": _keys(site, row),
    }
    status = HTTPStatus.CONFLICT if error else HTTPStatus.OK
    return rendered(site, request, "l1_own.html", context, status)


def _verify_local(site: Explorer) -> None:
    if site.node.network_id != LOCAL:
        raise Http404(_NOT_LOCAL)


def _initial(site: Explorer) -> dict[str, Any]:
    taken = {chain.config.chain_id for chain in site.evms}
    free = next(number for number in range(_FIRST_CHAIN_ID, 2**32) if number not in taken)
    return {
        "chain_id": free,
        "manager": ManagerKind.AUTHORITY.value,
        "owner": checksum_address(PAYER),
        "weight": 100,
        "balance": Decimal(1),
    }


def _begin(site: Explorer, form: L1Form) -> str:
    """Write the row of a creation; return its name. Raises `NotCreated`."""
    terms = form.terms(site.platform.network().unit)
    genesis = form.cleaned_data["genesis"].replace("\r\n", "\n")
    made = (
        with_manager(genesis, terms)
        if genesis
        else genesis_of(terms, site.platform.tip().timestamp)
    )
    l1_creation.begin(site.platform, terms, made)
    return terms.name


def _go_on(site: Explorer, name: str) -> None:
    """Create an L1 in a thread of its own, unless this process creates one already."""

    def create() -> None:
        try:
            L1Creation(site.platform, site.l1_tools).run(name)
        except (NotCreated, AnotherAtWork) as error:  # the row says so
            _log.warning("the L1 %s is not complete: %s", name, error)
        except Exception:
            _log.exception("the L1 %s is not complete", name)

    site.creating.start(create)


def _is_busy(site: Explorer) -> bool:
    """Return whether a process of this node creates or deletes an L1."""
    return site.creating.is_running or site.l1_tools.is_busy()


def _found(site: Explorer, text: str) -> OwnL1:
    """Return the L1 that a URL names. Raises `Http404`."""
    row = l1_requests.row_of(site.platform.db, text)
    if row is not None:
        return OwnL1(row.name, row.subnet_id, row, is_deleted=False)
    subnet_id = read_term(text).id
    is_primary = subnet_id == PRIMARY_NETWORK_ID
    if subnet_id is None or is_primary or not blockchains(site.platform, subnet_id):
        raise Http404("There is no such L1, and no subnet with chains.")
    return OwnL1(
        _title(site, subnet_id),
        subnet_id,
        l1_requests.of_subnet(site.platform.db, subnet_id),
        subnet_id in deleted(site.platform),
    )


def _title(site: Explorer, subnet_id: ID) -> str:
    names: Sequence[str] = [one.name for one in blockchains(site.platform, subnet_id)]
    return ", ".join(names) or str(subnet_id)


def _delete(site: Explorer, found: OwnL1) -> str:
    """Delete an L1; return why it was not deleted, or nothing."""
    name = "" if found.request is None else found.request.name
    try:
        with suppress(DatabaseError):  # each process also looks at intervals
            site.look_for_chains()
        l1_deletion.delete(site.platform, site.l1_tools, found.subnet_id, name)
    except (NotDeleted, AnotherAtWork, OSError, DatabaseError) as error:
        return str(error)
    return ""


def _manager(row: L1RequestRow | None) -> str:
    """Return the manager's address, if the L1 has a contract."""
    if row is None or L1Terms.from_json(row.terms).kind is None:
        return ""
    return checksum_address(MANAGER_ADDRESS)


def _keys(site: Explorer, row: L1RequestRow | None) -> str:
    """Return the directory of the second validator's keys, if this node has made them."""
    if row is None or row.subnet_id is None or not row.is_done:
        return ""
    terms = L1Terms.from_json(row.terms)
    return "" if terms.kind is None or terms.validator else site.l1_tools.keys_of(row.subnet_id)
