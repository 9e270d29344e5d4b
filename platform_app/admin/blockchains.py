"""Blockchains in the admin: which VM each runs, and whose validators run it."""

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.identifiers import IdentifierAdmin, Term
from chaindb.rowid import height_of
from platform_app.admin import display, links
from platform_app.models import Blockchain
from primitives.ids import ID


@admin.register(Blockchain)
class BlockchainAdmin(IdentifierAdmin):
    """All blockchains but the P-Chain itself, the latest first."""

    list_display = ("shown_name", "short_id", "network", "machine", "genesis", "created")
    ordering = ("-position",)
    search_fields = ("blockchain_id", "subnet_id")
    search_help_text = "Blockchain or subnet"
    fieldsets = (
        (None, {"fields": ("shown_name", "full_id", "full_network", "created")}),
        ("Virtual machine", {"fields": ("machine", "vm", "extensions", "genesis")}),
    )

    @override
    def lanes(self, term: Term) -> list[Q]:
        return [] if term.id is None else [Q(pk=term.id), Q(subnet_id=term.id)]

    @admin.display(description="Name")
    def shown_name(self, blockchain: Blockchain) -> str:
        """Return the name, which may be anything."""
        return blockchain.name or "(no name)"

    @admin.display(description="ID")
    def short_id(self, blockchain: Blockchain) -> SafeString:
        """Return the ID for the list."""
        return display.short_link(blockchain.pk, links.page("blockchain", blockchain.pk))

    @admin.display(description="ID")
    def full_id(self, blockchain: Blockchain) -> SafeString:
        """Return the ID, which is that of the transaction that created it."""
        return display.full_link(blockchain.pk, links.tx_page(blockchain.pk))

    @admin.display(description="Network")
    def network(self, blockchain: Blockchain) -> SafeString:
        """Return the subnet for the list."""
        return display.subnet(blockchain.subnet_id)

    @admin.display(description="Network")
    def full_network(self, blockchain: Blockchain) -> SafeString:
        """Return the subnet."""
        return display.full_subnet(blockchain.subnet_id)

    @admin.display(description="VM")
    def machine(self, blockchain: Blockchain) -> SafeString:
        """Return the VM by name where it has one."""
        return display.vm(blockchain.vm_id)

    @admin.display(description="VM ID")
    def vm(self, blockchain: Blockchain) -> SafeString:
        """Return the VM's ID."""
        return display.full(blockchain.vm_id)

    @admin.display(description="Feature extensions")
    def extensions(self, blockchain: Blockchain) -> SafeString:
        """Return the feature extensions by name."""
        data = bytes(blockchain.fx_ids)
        found = (ID(data[start : start + ID.SIZE]) for start in range(0, len(data), ID.SIZE))
        return display.line(*map(display.vm, found)) if data else display.NOTHING

    @admin.display(description="Genesis")
    def genesis(self, blockchain: Blockchain) -> str:
        """Return how long its genesis is; the transaction has it."""
        return f"{blockchain.genesis_size:,} bytes"

    @admin.display(description="Created in block")
    def created(self, blockchain: Blockchain) -> SafeString:
        """Return the block with its transaction."""
        return display.block_link(height_of(blockchain.position))
