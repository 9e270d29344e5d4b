"""The blockchains of subnets in the admin: which of them this node runs, and why not the others."""

from django.contrib import admin
from django.db.models import Q
from django.urls import reverse
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.read_only import IdentifierAdmin
from adminkit.terms import IdentifierTerm
from cchain_app.admin import display
from cchain_app.models import SubnetChain

_COLOURS = {SubnetChain.RUNNING: "good", SubnetChain.REFUSED: "bad"}

_BLOCKS = "admin:cchain_app_block_changelist"


@admin.register(SubnetChain)
class SubnetChainAdmin(IdentifierAdmin):
    """Blockchains of subnets. The pages of a running chain are those of the C-Chain, once it is chosen."""

    absent_because = "No accepted transaction has created it."
    found_by = ""
    list_display = ("shown_name", "state_badge", "chain_id", "short_reason", "choice")
    ordering = ("blockchain_id",)
    search_fields = ("blockchain_id",)
    search_help_text = "Blockchain or subnet"
    fieldsets = (
        (None, {"fields": ("shown_name", "state_badge", "reason", "choice")}),
        ("Chain", {"fields": ("blockchain", "subnet", "virtual_machine", "chain_id", "rules")}),
        ("Rows", {"fields": ("database",)}),
    )

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        if term.id is None:
            return [Q(name=term.text)]
        return [Q(blockchain_id=term.id), Q(subnet_id=term.id)]

    @admin.display(description="Name")
    def shown_name(self, row: SubnetChain) -> str:
        """Return the name; the ID's beginning for a chain without one."""
        return row.name or f"{row.blockchain[:8]}…"

    @admin.display(description="State")
    def state_badge(self, row: SubnetChain) -> SafeString:
        """Return whether the chain runs here, and whether it makes blocks."""
        if row.state == SubnetChain.RUNNING and row.reason:
            return display.badge("makes no blocks", "bad")
        return display.badge(row.get_state_display(), _COLOURS.get(row.state, "plain"))

    @admin.display(description="Why it does not run or makes no blocks")
    def short_reason(self, row: SubnetChain) -> str:
        """Return the beginning of the reason."""
        return row.reason[:120]

    @admin.display(description="Subnet")
    def subnet(self, row: SubnetChain) -> str:
        """Return the subnet's ID."""
        return str(row.subnet_id)

    @admin.display(description="Virtual machine")
    def virtual_machine(self, row: SubnetChain) -> str:
        """Return the ID of the virtual machine."""
        return str(row.vm_id)

    @admin.display(description="Its pages")
    def choice(self, row: SubnetChain) -> SafeString | str:
        """Return a link that chooses the chain for the pages of this admin."""
        if row.state != SubnetChain.RUNNING:
            return "–"
        return display.link("Choose ›", f"{reverse(_BLOCKS)}?chain={row.blockchain}")
