"""Contracts in the admin: the accounts that have code."""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Length
from django.http import HttpRequest
from django.utils.safestring import SafeString
from typing_extensions import override

from cchain_app.admin import display, links
from cchain_app.admin.accounts import AccountAdmin
from cchain_app.admin.rows import objects
from cchain_app.models import Account, Code, Receipt
from chaindb.fields import HexBytes
from primitives.hashing import EMPTY_HASH


class Contract(Account):
    """One row is an account with code, as it is at the head."""

    class Meta:
        proxy = True
        app_label = "cchain_app"
        ordering = ["address"]


@admin.register(Contract)
class ContractAdmin(AccountAdmin):
    """Accounts with code by address; the partial index `cchain_contract` answers."""

    list_display = ("short_address", "short_balance", "nonce_text", "created_by", "code_size")

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        creations = objects(Receipt).filter(contract_address=OuterRef("address"), succeeded=True)
        codes = objects(Code).filter(pk=OuterRef("code_hash"))
        accounts: QuerySet[Any] = super().get_queryset(request)
        contracts: QuerySet[Any] = accounts.exclude(code_hash=HexBytes(EMPTY_HASH))
        annotated: QuerySet[Any] = contracts.annotate(
            creation_hash=Subquery(
                creations.order_by("contract_address").values("transaction__hash")[:1]
            ),
            code_length=Subquery(codes.annotate(length=Length("code")).values("length")),
        )
        return annotated

    @admin.display(description="Created by")
    def created_by(self, contract: Any) -> SafeString:
        """Return the transaction that created it; none for a contract made by another."""
        if contract.creation_hash is None:
            return display.NOTHING
        page = links.transaction_page(contract.creation_hash)
        return display.short_link(contract.creation_hash, page)

    @admin.display(description="Code")
    def code_size(self, contract: Any) -> str:
        """Return how long its code is."""
        return f"{contract.code_length or 0:,} bytes"
