"""Assets and outputs of the X-Chain in the admin."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.changelist import Branch, ThroughTable
from adminkit.display import box, counted_link, full, full_link, moment, muted, short_link
from adminkit.read_only import IdentifierAdmin, cached_on_row
from adminkit.terms import IdentifierTerm
from xchain_app.admin import display
from xchain_app.models import XAsset, XOutput, XOwner
from xchain_app.store import rows

_EXTENSIONS = ((1, "coins"), (2, "collectibles"), (4, "property"))


@admin.register(XAsset)
class XAssetAdmin(IdentifierAdmin):
    """Assets, by their IDs."""

    absent_because = "No accepted transaction created it."
    list_display = ("short_id", "title", "ticker", "denomination", "kinds", "height")
    ordering = ("asset_id",)
    search_fields = ("asset_id", "symbol")
    search_help_text = "ID of an asset"
    found_by = ""
    fieldsets = (
        (None, {"fields": ("full_id", "title", "ticker", "alias", "denomination", "kinds")}),
        ("Origin", {"fields": ("creation",)}),
        ("Unspent outputs", {"fields": ("unspent",)}),
    )

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        return [] if term.id is None else [Q(pk=term.id)]

    @admin.display(description="ID")
    def short_id(self, asset: XAsset) -> SafeString:
        """Return the shortened ID for the list."""
        return short_link(asset.asset_id, display.page("xasset", asset.asset_id))

    @admin.display(description="ID")
    def full_id(self, asset: XAsset) -> SafeString:
        """Return the ID in full."""
        return full(asset.asset_id)

    @admin.display(description="Name")
    def title(self, asset: XAsset) -> str:
        """Return the name."""
        return display.printable(asset.name)

    @admin.display(description="Symbol")
    def ticker(self, asset: XAsset) -> str:
        """Return the symbol."""
        return display.printable(asset.symbol)

    @admin.display(description="Extensions")
    def kinds(self, asset: XAsset) -> str:
        """Return the kinds of outputs that the asset may have."""
        return ", ".join(name for bit, name in _EXTENSIONS if asset.extensions & bit) or "none"

    @admin.display(description="Created by")
    def creation(self, asset: XAsset) -> SafeString:
        """Return the transaction that created it."""
        return full_link(asset.asset_id, display.page("xtransaction", asset.asset_id))

    @admin.display(description="Unspent")
    @cached_on_row
    def unspent(self, asset: XAsset) -> SafeString:
        """Return the number of unspent outputs, linked to their list."""
        count = XOutput.objects.filter(asset_id=asset.asset_id, spent_by=None).count()
        return counted_link(count, display.search_page("xoutput", asset.asset_id))


@admin.register(XOutput)
class XOutputAdmin(IdentifierAdmin):
    """Outputs of all kinds, spent ones included; those of an address are unspent."""

    absent_because = "No accepted transaction created it on this chain."
    list_display = ("short_id", "kind", "value", "owner", "state", "height")
    ordering = ("utxo_id",)
    search_fields = ("utxo_id", "owners__address", "tx_id", "asset_id")
    search_help_text = "Address of an owner, UTXO, transaction, or asset"
    found_by = ""
    fieldsets = (
        (None, {"fields": ("full_id", "kind", "value", "asset", "full_owners", "lock")}),
        ("Collectible", {"fields": ("group_id", "shown_payload")}),
        ("Origin", {"fields": ("origin", "height")}),
        ("Spent", {"fields": ("spender", "spent_height")}),
        ("Bytes", {"fields": ("output_bytes",)}),
    )

    @override
    def prepare(self, rows: Sequence[Any]) -> None:
        assets = XAsset.objects.in_bulk({row.asset_id for row in rows})
        for row in rows:
            row.of_asset = assets.get(row.asset_id)

    @override
    def branches(self, term: IdentifierTerm) -> list[Branch]:
        if term.id is not None:
            return [Q(pk=term.id), Q(tx_id=term.id), Q(asset_id=term.id)]
        if term.address is None:
            return []
        return [ThroughTable(XOwner.objects.filter(address=term.address), "utxo_id")]

    @admin.display(description="UTXO")
    def short_id(self, output: XOutput) -> SafeString:
        """Return the shortened ID for the list."""
        return short_link(output.utxo_id, display.page("xoutput", output.utxo_id))

    @admin.display(description="UTXO")
    def full_id(self, output: XOutput) -> SafeString:
        """Return the ID in full."""
        return full(output.utxo_id)

    @admin.display(description="Content")
    def value(self, output: Any) -> str | None:
        """Return the amount, or the payload of a collectible."""
        if output.amount is not None:
            return display.amount(output.amount, output.of_asset)
        if output.payload is not None:
            return display.payload_text(bytes(output.payload))[:80]
        return None

    @admin.display(description="Asset")
    def asset(self, output: XOutput) -> SafeString:
        """Return the asset."""
        return full_link(output.asset_id, display.page("xasset", output.asset_id))

    @admin.display(description="Owner")
    @cached_on_row
    def owner(self, output: XOutput) -> SafeString:
        """Return the first owner, for the list."""
        return display.first_owner(rows.output_of(output.output))

    @admin.display(description="Owners")
    @cached_on_row
    def full_owners(self, output: XOutput) -> SafeString:
        """Return the owners, one per line."""
        return display.owners(rows.output_of(output.output))

    @admin.display(description="Locked until")
    def lock(self, output: XOutput) -> SafeString | None:
        """Return the time until which it is locked."""
        return moment(output.locktime) if output.locktime else None

    @admin.display(description="Payload")
    def shown_payload(self, output: XOutput) -> str | None:
        """Return the payload as text, or as hexadecimal digits if it is not text."""
        return None if output.payload is None else display.payload_text(bytes(output.payload))

    @admin.display(description="State")
    def state(self, output: XOutput) -> SafeString:
        """Return whether it is spent."""
        return muted("spent" if output.spent_by else "unspent")

    @admin.display(description="Created by")
    def origin(self, output: XOutput) -> SafeString:
        """Return the transaction that created it."""
        return full_link(output.tx_id, display.page("xtransaction", output.tx_id))

    @admin.display(description="Spent by")
    def spender(self, output: XOutput) -> SafeString | None:
        """Return the transaction that spent it."""
        if output.spent_by is None:
            return None
        return full_link(output.spent_by, display.page("xtransaction", output.spent_by))

    @admin.display(description="Output")
    def output_bytes(self, output: XOutput) -> SafeString:
        """Return the output as serialised in transactions."""
        return box(output.output)
