"""The page "Consensus" with the state of the consensus on each chain, and the list of decisions."""

import time
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.changelist import ListChoice
from adminkit.terms import IdentifierTerm
from chaindb import clock
from network_app import selectors
from network_app.admin import display, voting
from network_app.admin.rows import NetworkRowsAdmin
from network_app.apps import node_network
from network_app.models import BlockDecision, ChainConsensus
from platform_app.apps import platform_chain
from platform_app.chain import NoPlatformGenesis
from platform_app.selectors.accepted import NoFirstValidator
from primitives.ids import NodeID


@admin.register(ChainConsensus)
class ChainConsensusAdmin(NetworkRowsAdmin):
    """One page for all chains instead of a list."""

    ordering = ("-chain",)
    fieldsets = ((None, {"fields": ("chain", "updated_at")}),)

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        return []

    @override
    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        reported = selectors.status()
        is_fresh = reported is not None and selectors.is_fresh(reported)
        now = time.time() + clock.offset()
        reports = selectors.consensus() if settings.NODE.common.votes else {}
        context = {
            **self.admin_site.each_context(request),
            "title": "Consensus",
            "opts": self.opts,
            "deciding": who_decides(),
            "chains": [
                voting.overview(state, now, is_fresh=is_fresh) for state in voting.states(reports)
            ],
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/consensus.html", context)

    @override
    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Redirect to the page, because a row has no page of its own."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(display.list_page("chainconsensus"))


def who_decides() -> SafeString:
    """Return a sentence on who decides on this network's blocks."""
    if settings.NODE.common.votes:
        return display.side_by_side("The validators vote on each block, by their stake (Snowman).")
    try:
        maker, own = node_network().producer.node_id, platform_chain().node_id
    except (
        NoPlatformGenesis,
        NoFirstValidator,
        OSError,
    ):  # genesis and certificate are created on the first start
        return display.side_by_side("The producer decides on its blocks without votes.")
    if maker is None or maker == own:
        return display.side_by_side(
            "This node makes all blocks and decides on them alone, without votes."
        )
    link = display.node_link(maker, display.validator_page(maker))
    return display.side_by_side(link, "makes all blocks and decides on them alone, without votes.")


@admin.register(BlockDecision)
class BlockDecisionAdmin(NetworkRowsAdmin):
    """Blocks that votes have accepted or rejected, latest first."""

    absent_because = "This decision is unknown here, or older than the last NODE_KEPT_DECISIONS."
    list_display = (
        "block_height", "chain_name", "block", "outcome", "proposed_by", "polls", "decision_time", "decided",
    )  # fmt: skip
    ordering = ("-id",)
    search_fields = ("height", "block_id", "proposer")
    search_help_text = "Height, block ID or node ID"
    fieldsets = (
        (None, {"fields": ("chain_name", "block_height", "outcome", "full_id", "full_parent")}),
        ("Proposal", {"fields": ("full_proposer",)}),
        ("Decision", {"fields": ("issued", "decided", "decision_time", "polls", "rejected")}),
    )

    @override
    def is_used(self) -> bool:
        return super().is_used() and settings.NODE.common.votes

    @override
    def get_choices(self) -> tuple[ListChoice, ...]:
        rejected = ListChoice("rejected", "Rejected", (Q(accepted=False),))
        return (ListChoice("all", "All"), *display.chain_choices(), rejected)

    @override
    def branches(self, term: IdentifierTerm) -> Sequence[Q]:
        if term.node_id is not None:
            return [Q(proposer=str(term.node_id))]
        if term.number is not None:
            return [Q(height=term.number)]
        return [] if term.id is None else [Q(block_id=term.id)]

    @admin.display(description="Height")
    def block_height(self, row: BlockDecision) -> str:
        """Return the height."""
        return f"{row.height:,}"

    @admin.display(description="Chain")
    def chain_name(self, row: BlockDecision) -> SafeString:
        """Return the chain."""
        return display.chain(row.chain)

    @admin.display(description="Outer block ID")
    def block(self, row: BlockDecision) -> SafeString:
        """Return the block's ID, as a link to its page if it has one."""
        return voting.block_link(row)

    @admin.display(description="Outer block ID")
    def full_id(self, row: BlockDecision) -> SafeString:
        """Return the block's ID in full, as a link to its page if it has one."""
        if row.accepted:
            return display.full_link(row.block_id, display.outer_page(row.block_id))
        return display.full(row.block_id)

    @admin.display(description="Parent")
    def full_parent(self, row: BlockDecision) -> SafeString:
        """Return the ID of the block's parent in full."""
        return display.full(row.parent_id)

    @admin.display(description="Decision")
    def outcome(self, row: BlockDecision) -> SafeString:
        """Return the decision."""
        return voting.outcome(row)

    @admin.display(description="Proposer")
    def proposed_by(self, row: BlockDecision) -> SafeString:
        """Return the signer."""
        return voting.proposer_link(row.proposer)

    @admin.display(description="Proposer")
    def full_proposer(self, row: BlockDecision) -> SafeString:
        """Return the signer in full."""
        if row.proposer is None:
            return display.muted("unsigned")
        return display.full_node(NodeID.parse(row.proposer))

    @admin.display(description="Decided after")
    def decision_time(self, row: BlockDecision) -> SafeString:
        """Return how long the decision took."""
        seconds = (row.decided_at - row.issued_at).total_seconds()
        return display.unbroken(voting.format_seconds(seconds))

    @admin.display(description="Issued")
    def issued(self, row: BlockDecision) -> SafeString:
        """Return when the first votes were requested."""
        return display.clock_time(row.issued_at)

    @admin.display(description="Decided")
    def decided(self, row: BlockDecision) -> SafeString:
        """Return when the block was decided."""
        return display.clock_time(row.decided_at)
