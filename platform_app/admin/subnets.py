"""Subnets in the admin: their owners, their validators, and their blockchains."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q, Window
from django.db.models.functions import RowNumber
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.read_only import IdentifierAdmin, cached_on_row
from adminkit.terms import IdentifierTerm
from chaindb import clock
from chaindb.fields import height_of
from platform_app.admin import display, links
from platform_app.models import Blockchain, Phase, Staker, Subnet, SubnetOwner
from platform_app.store import rows
from primitives.counting import counted
from primitives.ids import ID

MAX_LISTED = 50
"""The number of validators and blockchains on a subnet's page; a link leads to all of them."""
MAX_SUBNETS = 500
"""The maximum number of subnets found for one address."""

_NAMED = 3
"""The number of blockchains named in the list."""


@admin.register(Subnet)
class SubnetAdmin(IdentifierAdmin):
    """All subnets, the latest first."""

    found_by = "subnet_id"
    list_display = ("short_id", "control", "locked", "blockchain_names", "created")
    ordering = ("-position",)
    search_fields = ("subnet_id",)
    search_help_text = "Subnet, or address of a control key"
    fieldsets = (
        (None, {"fields": ("full_id", "created", "keys", "locked")}),
        ("Validators", {"fields": ("validators",)}),
        ("Blockchains", {"fields": ("blockchains",)}),
    )

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        if term.id is not None:
            return [Q(pk=term.id)]
        if term.address is None:
            return []
        controlled = SubnetOwner.objects.filter(address=term.address).order_by("subnet_id")
        positions = list(controlled.values_list("subnet__position", flat=True)[:MAX_SUBNETS])
        return [Q(position__in=sorted(positions))] if positions else []

    @override
    def prepare(self, subnets: Sequence[Any]) -> None:
        names = _blockchain_names([subnet.pk for subnet in subnets])
        for subnet in subnets:
            subnet.blockchain_list = names[subnet.pk]

    @admin.display(description="ID")
    def short_id(self, subnet: Subnet) -> SafeString:
        """Return the shortened ID for the list."""
        return display.short(subnet.subnet_id)

    @admin.display(description="ID")
    def full_id(self, subnet: Subnet) -> SafeString:
        """Return the full ID, which is that of the transaction that created it."""
        return display.full_link(subnet.subnet_id, links.tx_page(subnet.subnet_id))

    @admin.display(description="Control keys")
    @cached_on_row
    def control(self, subnet: Subnet) -> SafeString:
        """Return the threshold and the control keys."""
        owner = rows.owners_of(subnet.owner)
        return display.signers(owner.threshold, owner.addresses)

    @admin.display(description="Control keys")
    @cached_on_row
    def keys(self, subnet: Subnet) -> SafeString:
        """Return the control keys, one per line."""
        owner = rows.owners_of(subnet.owner)
        return display.one_per_line(
            display.badge(f"{owner.threshold} of {len(owner.addresses)} must sign", "note"),
            *map(display.full_address, owner.addresses),
        )

    @admin.display(description="Locked until")
    def locked(self, subnet: Subnet) -> SafeString:
        """Return the time from which its owners can sign."""
        return display.moment(subnet.locktime) if subnet.locktime else display.NOTHING

    @admin.display(description="Blockchains")
    def blockchain_names(self, subnet: Any) -> SafeString:
        """Return the names of the first blockchains."""
        blockchains: list[tuple[ID, str]] = subnet.blockchain_list
        named = (
            display.link(name or "–", links.page("blockchain", key))
            for key, name in blockchains[:_NAMED]
        )
        more = len(blockchains) > _NAMED
        return display.side_by_side(*named, display.muted("and more") if more else "")

    @admin.display(description="Created in block")
    def created(self, subnet: Subnet) -> SafeString:
        """Return the block that contains its transaction."""
        return display.block_link(height_of(subnet.position))

    @admin.display(description="Current validators")
    @cached_on_row
    def validators(self, subnet: Subnet) -> SafeString:
        """Return its current validators, the latest first."""
        now = clock.now()
        current = Staker.objects.filter(
            is_delegator__in=[False], subnet_id=subnet.pk, phase=Phase.CURRENT.value
        )
        stakers = list(current.order_by("-position")[: MAX_LISTED + 1])
        page = links.search_page("validator", subnet.pk)
        if not stakers:
            return display.link("No current validators. Past and pending ones ›", page)
        table = display.table(
            ("Node", "Weight", "Period"),
            (
                (
                    display.full_link(
                        staker.node_id, links.staker_page(staker.tx_id, is_delegator=False)
                    ),
                    f"{staker.weight:,}",
                    display.period(staker.start_time, staker.end_time, now),
                )
                for staker in stakers[:MAX_LISTED]
            ),
        )
        return display.side_by_side(
            table, display.link("All, including past and pending ones ›", page)
        )

    @admin.display(description="Blockchains")
    @cached_on_row
    def blockchains(self, subnet: Subnet) -> SafeString:
        """Return the blockchains that its validators run."""
        blockchains = list(
            Blockchain.objects.filter(subnet_id=subnet.pk).order_by("position")[: MAX_LISTED + 1]
        )
        if not blockchains:
            return display.NOTHING
        table = display.table(
            ("Name", "ID", "VM"),
            (
                (
                    blockchain.name,
                    display.short_link(blockchain.pk, links.page("blockchain", blockchain.pk)),
                    display.vm(blockchain.vm_id),
                )
                for blockchain in blockchains[:MAX_LISTED]
            ),
        )
        if len(blockchains) <= MAX_LISTED:
            return table
        return display.side_by_side(
            table, display.link("All ›", links.search_page("blockchain", subnet.pk))
        )


def _blockchain_names(subnet_ids: Sequence[ID]) -> dict[ID, list[tuple[ID, str]]]:
    """Return IDs and names of blockchains by subnet, one more than the list shows."""
    names: defaultdict[ID, list[tuple[ID, str]]] = defaultdict(list)
    place = Window(RowNumber(), partition_by="subnet_id", order_by="position")
    chains = Blockchain.objects.filter(subnet_id__in=subnet_ids).annotate(place=place)
    first = chains.filter(place__lte=_NAMED + 1).order_by("subnet_id", "position")
    for subnet_id, key, name in first.values_list("subnet_id", "pk", "name"):
        names[ID(bytes(subnet_id))].append((ID(bytes(key)), name))
    return names


@admin.register(Blockchain)
class BlockchainAdmin(IdentifierAdmin):
    """All blockchains except the P-Chain itself, the latest first."""

    found_by = "blockchain_id"
    list_display = ("display_name", "short_id", "network", "machine", "genesis", "created")
    ordering = ("-position",)
    search_fields = ("blockchain_id", "subnet_id")
    search_help_text = "Blockchain or subnet"
    fieldsets = (
        (None, {"fields": ("display_name", "full_id", "full_network", "created")}),
        ("Virtual machine", {"fields": ("machine", "vm", "extensions", "genesis")}),
    )

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        return [] if term.id is None else [Q(pk=term.id), Q(subnet_id=term.id)]

    @admin.display(description="Name")
    def display_name(self, blockchain: Blockchain) -> str:
        """Return the name, which may be any text."""
        return blockchain.name or "(no name)"

    @admin.display(description="ID")
    def short_id(self, blockchain: Blockchain) -> SafeString:
        """Return the shortened ID for the list."""
        return display.short_link(blockchain.pk, links.page("blockchain", blockchain.pk))

    @admin.display(description="ID")
    def full_id(self, blockchain: Blockchain) -> SafeString:
        """Return the full ID, which is that of the transaction that created it."""
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
        """Return the VM's name if it has one."""
        return display.vm(blockchain.vm_id)

    @admin.display(description="VM ID")
    def vm(self, blockchain: Blockchain) -> SafeString:
        """Return the VM's ID."""
        return display.full(blockchain.vm_id)

    @admin.display(description="Feature extensions")
    def extensions(self, blockchain: Blockchain) -> SafeString:
        """Return the names of the feature extensions."""
        data = bytes(blockchain.fx_ids)
        fx_ids = (ID(data[start : start + ID.SIZE]) for start in range(0, len(data), ID.SIZE))
        return display.side_by_side(*map(display.vm, fx_ids)) if data else display.NOTHING

    @admin.display(description="Genesis")
    def genesis(self, blockchain: Blockchain) -> str:
        """Return the size of its genesis, which is in the transaction."""
        return counted(blockchain.genesis_size, "byte")

    @admin.display(description="Created in block")
    def created(self, blockchain: Blockchain) -> SafeString:
        """Return the block that contains its transaction."""
        return display.block_link(height_of(blockchain.position))
