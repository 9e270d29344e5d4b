"""Delegators in the admin: stake that was added to validators."""

from django.contrib import admin
from django.utils.safestring import SafeString

from platform_app.admin import display
from platform_app.admin.stakers import StakerAdmin, phases
from platform_app.models import Delegator, Staker


@admin.register(Delegator)
class DelegatorAdmin(StakerAdmin):
    """Delegations, the latest first."""

    choices = phases(is_delegator=True)
    is_delegator = True
    list_display = ("short_tx", "validator", "state", "stake", "period", "reward")
    search_help_text = "Node, transaction, subnet or address"
    fieldsets = (
        (None, {"fields": (
            "full_tx", "full_node", "full_network", "state", "period", "times",
        )}),
        ("Stake", {"fields": ("stake", "locked")}),
        ("Reward", {"fields": ("potential", "paid", "rewards_owner_text")}),
        ("Blocks", {"fields": ("added", "joined", "left")}),
    )  # fmt: skip

    @admin.display(description="Transaction")
    def short_tx(self, delegator: Staker) -> SafeString:
        """Return the transaction for the list."""
        return display.short(delegator.tx_id)

    @admin.display(description="Validator")
    def validator(self, delegator: Staker) -> SafeString:
        """Return the node that it stakes with."""
        return display.node_link(delegator.node_id)
