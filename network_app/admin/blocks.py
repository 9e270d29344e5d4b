"""Outer blocks in the admin: which node proposed which block of which chain, and when."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.changelist import Branch, KeysetChangeList, ListChoice
from adminkit.read_only import cached_on_row
from adminkit.terms import IdentifierTerm
from cchain_app.admin.pages import objects
from cchain_app.apps import evm_chain
from cchain_app.models import Block as CChainBlock
from chaindb.chains import P_CHAIN
from network_app.admin import display
from network_app.admin.rows import NetworkRowsAdmin
from network_app.models import OuterBlock
from platform_app.models import Block as PlatformBlock
from primitives.ids import ID

_HEIGHT_BITS = 63
"""Number of bits of the heights that a column can hold."""

_OPTION = 1


class OuterBlockList(KeysetChangeList):
    """The list; without a search it uses existing indexes: by height for one chain, by key for all."""

    @override
    def _search(self) -> tuple[str, list[Branch]]:
        order, branches = super()._search()
        if self.query:
            return order, branches
        return ("-height", branches) if len(branches) == 1 else (order, [Q()])


@admin.register(OuterBlock)
class OuterBlockAdmin(NetworkRowsAdmin):
    """Outer blocks of accepted blocks, latest first."""

    list_display = (
        "block_height", "inner_block", "short_id", "short_proposer", "moment", "validators_as_of", "epoch_summary",
    )  # fmt: skip
    list_defer = ("signature",)
    ordering = ("-id",)
    search_fields = ("height", "block_id", "proposer")
    search_help_text = "Height, block ID or node ID"
    unique_hash = "block_id"
    found_by = ""  # this is the ID of the outer block, while the explorer finds blocks by the ID of the inner block
    fieldsets = (
        (None, {"fields": ("of_chain", "neighbours", "full_id", "kind_text", "inner_block")}),
        ("Proposal", {"fields": ("full_proposer", "moment", "validators_as_of", "full_era")}),
        ("Signed", {"fields": ("signed_by", "signed")}),
    )

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        return rows.using(objects(OuterBlock).db)  # with the blocks of the chosen EVM chain

    @override
    def get_choices(self) -> tuple[ListChoice, ...]:
        chains = display.chain_choices()
        everything = tuple(branch for chain in chains for branch in chain.branches)
        return (*chains, ListChoice("all", "All", everything))

    @override
    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return OuterBlockList

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        if term.node_id is not None:
            return [Q(proposer=term.node_id)]
        if term.number is not None:
            return _at(term.number)
        return [] if term.id is None else _known_as(term.id)

    @admin.display(description="Height")
    def block_height(self, block: OuterBlock) -> str:
        """Return the height for the list."""
        return f"{block.height:,}"

    @admin.display(description="Chain")
    def of_chain(self, block: OuterBlock) -> SafeString:
        """Return the chain."""
        return display.chain(block.chain)

    @admin.display(description="Outer block ID")
    def short_id(self, block: OuterBlock) -> SafeString:
        """Return the ID for the list."""
        return display.short_link(block.block_id, display.outer_page(block.block_id))

    @admin.display(description="Outer block ID")
    def full_id(self, block: OuterBlock) -> SafeString:
        """Return the ID in full."""
        return display.full(block.block_id)

    @admin.display(description="Height")
    @cached_on_row
    def neighbours(self, block: OuterBlock) -> SafeString:
        """Return the height between links to the previous and the next block, where they exist."""
        heights = (block.height - 1, block.height + 1)
        rows = objects(OuterBlock).filter(chain=block.chain, height__in=heights).order_by()
        found = dict(rows.values_list("height", "pk"))
        before, after = (found.get(height) for height in heights)
        return display.side_by_side(
            f"{block.height:,}",
            "" if before is None else display.link("‹ previous", display.outer_page(before)),
            "" if after is None else display.link("next ›", display.outer_page(after)),
        )

    @admin.display(description="Kind")
    def kind_text(self, block: OuterBlock) -> str:
        """Return the kind of the outer block."""
        if block.kind == _OPTION:
            return "option: the outcome of a proposal, without a proposer"
        signed = "signed" if block.proposer_id is not None else "not signed"
        return signed if block.epoch_number is None else f"{signed}, with an epoch"

    @admin.display(description="Inner block")
    def inner_block(self, block: OuterBlock) -> SafeString:
        """Return a link to the chain's own block."""
        page = display.inner_page(block.chain, block.height)
        return display.link(f"{display.title(block.chain)} {block.height:,} ›", page)

    @admin.display(description="Proposer")
    def short_proposer(self, block: Any) -> SafeString:
        """Return the proposer, as a link to all blocks that it proposed."""
        if block.proposer_id is None:
            return _unsigned(block)
        return display.node_link(block.proposer_id, display.proposer_page(block.proposer_id))

    @admin.display(description="Proposer")
    def full_proposer(self, block: Any) -> SafeString:
        """Return the proposer, with links to the other pages about that node."""
        if block.proposer_id is None:
            return _unsigned(block)
        return display.full_node(block.proposer_id)

    @admin.display(description="Time")
    def moment(self, block: OuterBlock) -> SafeString:
        """Return the time of the block."""
        return display.NOTHING if block.time is None else display.moment(block.time)

    @admin.display(description="P-Chain height")
    def validators_as_of(self, block: OuterBlock) -> SafeString:
        """Return the P-Chain height whose validators determine the next proposer."""
        return _platform_block(block.p_chain_height)

    @admin.display(description="Epoch")
    def epoch_summary(self, block: OuterBlock) -> SafeString | str:
        """Return the epoch's number."""
        return display.NOTHING if block.epoch_number is None else f"{block.epoch_number:,}"

    @admin.display(description="Epoch")
    def full_era(self, block: OuterBlock) -> SafeString:
        """Return the epoch's number, its start, and its P-Chain height."""
        if block.epoch_number is None or block.epoch_start is None:
            return display.NOTHING
        return display.side_by_side(
            f"{block.epoch_number:,}",
            display.muted("since"),
            display.moment(block.epoch_start),
            display.muted("at P-Chain height"),
            _platform_block(block.epoch_height),
        )

    @admin.display(description="Certificate")
    @cached_on_row
    def signed_by(self, block: OuterBlock) -> SafeString:
        """Return the proposer's certificate."""
        return display.NOTHING if block.proposer is None else display.box(block.proposer.der)

    @admin.display(description="Signature")
    @cached_on_row
    def signed(self, block: OuterBlock) -> SafeString:
        """Return the signature."""
        return display.box(block.signature)


def _unsigned(block: OuterBlock) -> SafeString:
    return display.muted("option" if block.kind == _OPTION else "not signed")


def _platform_block(height: int | None) -> SafeString:
    if height is None:
        return display.NOTHING
    return display.link(f"{height:,}", display.inner_page(P_CHAIN, height))


def _at(height: int) -> list[Q]:
    """Return the condition for blocks at a height; no condition if the height is impossible."""
    if height >> _HEIGHT_BITS:
        return []
    rows = objects(OuterBlock).filter(chain__in=display.chain_names(), height=height)
    return [Q(pk__in=list(rows.order_by().values_list("pk", flat=True)))]


def _known_as(wanted: ID) -> list[Q]:
    """Return the conditions for a block by its ID, either that among peers or that of its own chain."""
    platform = PlatformBlock.objects.filter(block_id=wanted).order_by("block_id")
    cchain = objects(CChainBlock).filter(hash=wanted).order_by("hash")
    heights = (
        (P_CHAIN, platform.values_list("height", flat=True).first()),
        (evm_chain().name, cchain.values_list("number", flat=True).first()),
    )
    found = [Q(chain=alias, height=height) for alias, height in heights if height is not None]
    return found or [Q(block_id=wanted)]
