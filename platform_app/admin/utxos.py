"""Outputs in the admin: unspent outputs of this chain, and exported outputs that are not imported yet."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.changelist import Branch, ThroughTable
from adminkit.display import box
from adminkit.read_only import IdentifierAdmin, cached_on_row
from adminkit.terms import IdentifierTerm
from platform_app.admin import display, flows, links
from platform_app.admin.transactions import parse_stored
from platform_app.apps import platform_chain
from platform_app.models import UTXO, Tx, UTXOOwner
from platform_app.store import rows
from platform_app.txs.base import inner_output
from primitives.ids import ID, PRIMARY_NETWORK_ID, utxo_id
from shared_app.models import SharedOutput, SharedOwner

REWARDS = 2
"""The number of outputs of a staking transaction that are created when its staker leaves (pchain.md 7.3)."""


class _OutputAdmin(IdentifierAdmin):
    """Outputs by their IDs; those of an address in the order of getUTXOs."""

    ordering = ("utxo_id",)
    search_fields = ("utxo_id", "owners__address", "tx_id")
    search_help_text = "Address of an owner, UTXO, or transaction"

    @override
    def prepare(self, utxos: Sequence[Any]) -> None:
        staking_asset = platform_chain().network().asset_id if utxos else None
        for utxo in utxos:
            utxo.staking_asset = staking_asset

    @admin.display(description="UTXO")
    def short_id(self, utxo: UTXO) -> SafeString:
        """Return the shortened ID for the list."""
        return display.short(utxo.utxo_id)

    @admin.display(description="UTXO")
    def full_id(self, utxo: UTXO) -> SafeString:
        """Return the full ID."""
        return display.full(utxo.utxo_id)

    @admin.display(description="Amount")
    def value(self, utxo: Any) -> SafeString:
        """Return the amount of its asset."""
        return display.asset_amount(utxo.amount, utxo.asset_id, utxo.staking_asset)

    @admin.display(description="Owners")
    @cached_on_row
    def owner(self, utxo: UTXO) -> SafeString:
        """Return the owners, for the list."""
        return display.owners_of_output(utxo.output, most=1)

    @admin.display(description="Owners")
    @cached_on_row
    def full_owners(self, utxo: UTXO) -> SafeString:
        """Return the owners, one per line."""
        return display.full_signers(inner_output(rows.output_of(utxo.output)).owners)

    @admin.display(description="Locks")
    @cached_on_row
    def locks(self, utxo: UTXO) -> SafeString:
        """Return the time until which it is locked."""
        return display.locks_of(rows.output_of(utxo.output))

    @admin.display(description="Created by")
    def origin(self, utxo: UTXO) -> SafeString:
        """Return the transaction and the output index, for the list."""
        return display.side_by_side(
            display.short(utxo.tx_id), display.muted(f"output {utxo.output_index}")
        )

    @admin.display(description="Created by")
    @cached_on_row
    def full_origin(self, utxo: UTXO) -> SafeString:
        """Return the transaction; outputs of the genesis and of other chains have no transaction here."""
        known = Tx.objects.filter(tx_id=utxo.tx_id).exists()
        return display.side_by_side(
            display.full_link(utxo.tx_id, links.tx_page(utxo.tx_id))
            if known
            else display.full(utxo.tx_id),
            display.muted(f"output {utxo.output_index}"),
        )

    @admin.display(description="Asset")
    def asset(self, utxo: Any) -> SafeString:
        """Return the asset."""
        staked = utxo.asset_id == utxo.staking_asset
        return display.side_by_side(
            display.full(utxo.asset_id), display.badge("staking asset", "good") if staked else ""
        )

    @admin.display(description="Output")
    def output_bytes(self, utxo: UTXO) -> SafeString:
        """Return the output as serialised in transactions."""
        return box(utxo.output)


@admin.register(UTXO)
class UTXOAdmin(_OutputAdmin):
    """Unspent outputs of the P-Chain."""

    absent_because = "It was spent or never existed: only unspent outputs are listed."
    list_display = ("short_id", "value", "owner", "short_locks", "origin", "block")
    fieldsets = (
        (None, {"fields": ("full_id", "value", "asset", "full_owners", "locks")}),
        ("Origin", {"fields": ("full_origin", "block")}),
        ("Bytes", {"fields": ("output_bytes",)}),
    )

    @override
    def branches(self, term: IdentifierTerm) -> list[Branch]:
        if term.id is not None:
            made = _outputs_of(term.id)
            return [Q(pk=term.id), *([Q(pk__in=made)] if made else [])]
        if term.address is None:
            return []
        return [ThroughTable(UTXOOwner.objects.filter(address=term.address), "utxo_id")]

    @admin.display(description="Locks")
    def short_locks(self, utxo: UTXO) -> SafeString:
        """Return the time until which it is locked, for the list."""
        return display.short_locks(utxo.locktime, utxo.stakeable_locktime)

    @admin.display(description="Block")
    def block(self, utxo: UTXO) -> SafeString:
        """Return the block that created it."""
        return display.block_link(utxo.height)


@admin.register(SharedOutput)
class SharedOutputAdmin(_OutputAdmin):
    """Outputs that one chain has exported and the other has not imported yet."""

    list_display = ("short_id", "direction", "value", "owner", "origin")
    fieldsets = (
        (None, {"fields": ("full_id", "direction", "value", "asset", "full_owners", "locks")}),
        ("Origin", {"fields": ("full_origin", "exported_at")}),
        ("Bytes", {"fields": ("output_bytes",)}),
    )

    @override
    def branches(self, term: IdentifierTerm) -> list[Branch]:
        if term.id is not None:
            made = _outputs_of(term.id)
            return [Q(pk=term.id), *([Q(pk__in=made)] if made else [])]
        if term.address is None:
            return []
        # The index of owners starts with the two chains.
        owners = SharedOwner.objects.filter(address=term.address)
        return [
            ThroughTable(
                owners.filter(destination_chain=destination, source_chain=source), "utxo_id"
            )
            for source, destination in _directions()
        ]

    @override
    def prepare(self, utxos: Sequence[Any]) -> None:
        names = _chain_names() if utxos else {}
        super().prepare(utxos)
        for utxo in utxos:
            utxo.names = names

    @admin.display(description="Direction")
    def direction(self, utxo: Any) -> SafeString:
        """Return the source and the destination chain."""
        source, destination = (
            display.badge(utxo.names[value], "note")
            if value in utxo.names
            else display.short(value)
            for value in (utxo.source_chain, utxo.destination_chain)
        )
        return display.side_by_side(source, "→", destination)

    @admin.display(description="Exported in block")
    def exported_at(self, utxo: SharedOutput) -> SafeString | str:
        """Return the height of the exporting chain's block."""
        if utxo.source_chain == PRIMARY_NETWORK_ID:
            return display.block_link(utxo.height)
        return f"{utxo.height:,}"


def _outputs_of(tx_id: ID) -> list[ID]:
    """Return the IDs of all outputs that a transaction created or that rewarded its staker."""
    raw = Tx.objects.filter(tx_id=tx_id).order_by("tx_id").values_list("raw", flat=True).first()
    signed = None if raw is None else parse_stored(bytes(raw))
    if signed is None:
        return []
    count = sum(1 for _ in flows.outputs_of(signed))
    return sorted(utxo_id(tx_id, index) for index in range(count + REWARDS))


def _chain_names() -> dict[ID, str]:
    network = platform_chain().network()
    return {
        PRIMARY_NETWORK_ID: "P-Chain",
        network.x_chain_id: "X-Chain",
        network.c_chain_id: "C-Chain",
    }


def _directions() -> list[tuple[ID, ID]]:
    """Return the possible pairs of source and destination chain."""
    network = platform_chain().network()
    return list(permutations((PRIMARY_NETWORK_ID, network.x_chain_id, network.c_chain_id), 2))
