"""L1s in the admin: conversions of subnets, and validators with their balances."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.urls import reverse
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.read_only import IdentifierAdmin
from adminkit.terms import IdentifierTerm
from platform_app.admin import display, links
from platform_app.apps import platform_chain
from platform_app.executor.l1 import balance_of
from platform_app.models import L1Conversion, L1Validator
from platform_app.selectors import l1_validators
from platform_app.store.l1_validators import owner_of, record_of
from utxo.components import OutputOwners


@admin.register(L1Conversion)
class L1ConversionAdmin(IdentifierAdmin):
    """All L1s, the latest first."""

    found_by = "subnet_id"
    list_display = ("short_id", "manager_chain", "manager", "validators", "converted")
    ordering = ("-height",)
    search_fields = ("subnet_id",)
    search_help_text = "L1 (its subnet)"
    fieldsets = (
        (None, {"fields": ("full_id", "converted", "conversion")}),
        ("Validator manager", {"fields": ("manager_chain", "manager")}),
        ("Validators", {"fields": ("validators",)}),
    )

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        return [] if term.id is None else [Q(pk=term.id)]

    @admin.display(description="Subnet")
    def short_id(self, l1: L1Conversion) -> SafeString:
        """Return the shortened ID of the subnet for the list."""
        return display.short(l1.subnet_id)

    @admin.display(description="Subnet")
    def full_id(self, l1: L1Conversion) -> SafeString:
        """Return the subnet with a link to its page."""
        return display.full_link(l1.subnet_id, links.subnet_page(l1.subnet_id))

    @admin.display(description="Conversion ID")
    def conversion(self, l1: L1Conversion) -> SafeString:
        """Return the hash that managers compare."""
        return display.full(l1.conversion_id)

    @admin.display(description="Manager's chain")
    def manager_chain(self, l1: L1Conversion) -> SafeString:
        """Return the chain with the contract that manages the validators."""
        return display.short_link(
            l1.manager_chain_id, links.page("blockchain", l1.manager_chain_id)
        )

    @admin.display(description="Manager's address")
    def manager(self, l1: L1Conversion) -> str:
        """Return the contract's address on that chain."""
        return f"0x{bytes(l1.manager_address).hex()}" if l1.manager_address else "(empty)"

    @admin.display(description="Validators")
    def validators(self, l1: L1Conversion) -> SafeString:
        """Return the link to its validators."""
        return display.link("Validators ›", links.search_page("l1validator", l1.subnet_id))

    @admin.display(description="Converted in block")
    def converted(self, l1: L1Conversion) -> SafeString:
        """Return the block with the conversion."""
        return display.block_link(l1.height)


@admin.register(L1Validator)
class L1ValidatorAdmin(IdentifierAdmin):
    """All validators of L1s, the latest first; also those that were removed."""

    found_by = "validation_id"
    list_display = ("short_node", "l1", "weight_text", "state", "balance", "short_id", "added")
    ordering = ("-added_height", "validation_id")
    search_fields = ("validation_id", "subnet_id", "node_id")
    search_help_text = "Validation, L1 (its subnet) or node"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "full_id",
                    "full_node",
                    "l1",
                    "weight_text",
                    "state",
                    "balance",
                    "runs_out",
                    "steps",
                )
            },
        ),
        ("Owners", {"fields": ("balance_owner", "deactivation")}),
        ("Messages", {"fields": ("min_nonce", "key")}),
        ("Blocks", {"fields": ("added", "removed", "started")}),
    )

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        if term.id is not None:
            return [Q(pk=term.id), Q(subnet_id=term.id)]
        return [] if term.node_id is None else [Q(node_id=term.node_id)]

    @override
    def prepare(self, validators: Sequence[Any]) -> None:
        if not validators:  # there may be no P-Chain yet
            return
        tip = platform_chain().tip()
        for validator in validators:
            validator.tip = tip

    @admin.display(description="Validation")
    def short_id(self, validator: L1Validator) -> SafeString:
        """Return the shortened validation ID for the list."""
        return display.short(validator.validation_id)

    @admin.display(description="Validation")
    def full_id(self, validator: L1Validator) -> SafeString:
        """Return the validation ID."""
        return display.full(validator.validation_id)

    @admin.display(description="Node")
    def short_node(self, validator: L1Validator) -> SafeString:
        """Return the shortened node ID for the list."""
        return display.short_node(validator.node_id)

    @admin.display(description="Node")
    def full_node(self, validator: L1Validator) -> SafeString:
        """Return the node ID."""
        return display.full(validator.node_id)

    @admin.display(description="L1")
    def l1(self, validator: L1Validator) -> SafeString:
        """Return the L1's subnet."""
        return display.subnet(validator.subnet_id)

    @admin.display(description="Weight")
    def weight_text(self, validator: L1Validator) -> str:
        """Return its weight, which has no unit."""
        return f"{validator.weight:,}"

    @admin.display(description="State")
    def state(self, validator: L1Validator) -> SafeString:
        """Return whether it is active, inactive or removed."""
        if validator.removed_height is not None:
            return display.badge("removed")
        return display.badge("active", "good") if validator.is_active else display.badge("inactive")

    @admin.display(description="Balance")
    def balance(self, validator: Any) -> SafeString:
        """Return the balance after the last accepted block."""
        return display.amount(balance_of(record_of(validator), validator.tip.l1s.fees))

    @admin.display(description="Runs out")
    def runs_out(self, validator: Any) -> SafeString:
        """Return when the balance runs out."""
        ends = l1_validators.end_of_balance(platform_chain(), validator.tip, record_of(validator))
        return display.NOTHING if ends is None else display.moment(ends)

    @admin.display(description="Steps")
    def steps(self, validator: L1Validator) -> SafeString:
        """Return the links to the forms with which a keystore's user changes it."""
        if validator.removed_height is not None:
            return display.NOTHING
        query = f"?validation_id={validator.validation_id}"
        names = {
            "balance": "Add to the balance ›",
            "weight": "Set the weight ›",
            "disable": "Disable ›",
        }
        return display.side_by_side(
            *(
                display.link(title, reverse("admin_l1_step", args=[name]) + query)
                for name, title in names.items()
            )
        )

    @admin.display(description="Owner of the remaining balance")
    def balance_owner(self, validator: L1Validator) -> SafeString:
        """Return who receives the rest of the balance."""
        return _owners(validator.remaining_balance_owner)

    @admin.display(description="Deactivation owner")
    def deactivation(self, validator: L1Validator) -> SafeString:
        """Return who may deactivate it."""
        return _owners(validator.deactivation_owner)

    @admin.display(description="BLS key")
    def key(self, validator: L1Validator) -> SafeString:
        """Return its BLS public key."""
        return display.key(validator.public_key)

    @admin.display(description="Added in block")
    def added(self, validator: L1Validator) -> SafeString:
        """Return the block that added it."""
        return display.block_link(validator.added_height)

    @admin.display(description="Removed in block")
    def removed(self, validator: L1Validator) -> SafeString:
        """Return the block that removed it."""
        return display.block_link(validator.removed_height)

    @admin.display(description="Since")
    def started(self, validator: L1Validator) -> SafeString:
        """Return when it began to validate."""
        return display.moment(validator.start_time)


def _owners(raw: bytes) -> SafeString:
    owner = owner_of(raw)
    return display.full_signers(OutputOwners(0, owner.threshold, owner.addresses))
