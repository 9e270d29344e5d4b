"""The common parts of the validator and delegator pages: lists by phase, search, export."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.changelist import ListChoice
from adminkit.export import Cells
from adminkit.formats import format_iso
from adminkit.read_only import IdentifierAdmin, cached_on_row
from adminkit.terms import IdentifierTerm
from platform_app.admin import display, flows, links, staker_details
from platform_app.admin.staker_details import StakerDetails
from platform_app.apps import platform_chain
from platform_app.models import Outcome, Phase, StakeOutput, Staker
from platform_app.selectors import auto_renewal
from platform_app.store import rows
from primitives.ids import ID
from utxo.components import OutputOwners

MAX_STAKES = 500
"""The maximum number of stakes found for one address."""


def phases(*, is_delegator: bool) -> tuple[ListChoice, ...]:
    """Return the filters of a list of one role; an index on role, phase and order serves each of them."""

    def branch(phase: Phase) -> Q:
        # `IN` with one value, because SQLite does not use an index for a bare boolean condition.
        return Q(is_delegator__in=[is_delegator], phase=phase.value)

    return (
        ListChoice("current", "Current", (branch(Phase.CURRENT),)),
        ListChoice("pending", "Pending", (branch(Phase.PENDING),)),
        ListChoice("past", "Past", (branch(Phase.PAST),)),
        ListChoice("all", "All", tuple(map(branch, Phase))),
    )


class StakerAdmin(IdentifierAdmin):
    """Stakers of one role, the latest first."""

    is_delegator: bool
    list_defer = ("public_key", "proof_of_possession")
    ordering = ("-position",)
    search_fields = ("node_id", "tx_id", "subnet_id")

    export_headings: tuple[str, ...] = (
        "node_id", "subnet_id", "tx_id", "phase", "outcome", "weight", "coins", "start_time",
        "end_time", "left_time", "potential_reward", "paid_reward", "rewards_owner",
        "rewards_threshold",
    )  # fmt: skip

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        stakers: QuerySet[Any] = super().get_queryset(request)
        return stakers.filter(is_delegator=self.is_delegator)

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        if term.id is not None:
            return [Q(pk=term.id), Q(subnet_id=term.id)]
        node = [] if term.node_id is None else [Q(node_id=term.node_id)]
        return node if term.address is None else [*node, *self._stakes_of(term)]

    def _stakes_of(self, term: IdentifierTerm) -> list[Q]:
        """Return conditions for the stakers whose locked stake an address owns."""
        outputs = StakeOutput.objects.filter(address=term.address)
        staked = outputs.order_by("address", "staker_id", "output_index")
        positions = list(staked.values_list("staker__position", flat=True)[:MAX_STAKES])
        return [Q(position__in=sorted(set(positions)))] if positions else []

    @override
    def prepare(self, stakers: Sequence[Any]) -> None:
        for staker, details in zip(stakers, staker_details.read(stakers), strict=True):
            staker.details = details

    @admin.display(description="Node")
    def short_node(self, staker: Staker) -> SafeString:
        """Return the node for the list."""
        return display.short_node(staker.node_id)

    @admin.display(description="Node")
    def full_node(self, staker: Staker) -> SafeString:
        """Return the full node ID, linked to all its staking periods."""
        return display.full_link(staker.node_id, links.node_page(staker.node_id))

    @admin.display(description="Transaction")
    def full_tx(self, staker: Staker) -> SafeString:
        """Return the transaction that added it."""
        return display.full_link(staker.tx_id, links.tx_page(staker.tx_id))

    @admin.display(description="Network")
    def network(self, staker: Staker) -> SafeString:
        """Return the subnet for the list."""
        return display.subnet(staker.subnet_id)

    @admin.display(description="Network")
    def full_network(self, staker: Staker) -> SafeString:
        """Return the subnet."""
        return display.full_subnet(staker.subnet_id)

    @admin.display(description="Stake")
    def stake(self, staker: Staker) -> SafeString | str:
        """Return the stake."""
        return display.weight(staker.weight, staker.subnet_id)

    @admin.display(description="Period")
    def period(self, staker: Any) -> SafeString:
        """Return the staking period as a bar."""
        details: StakerDetails = staker.details
        return display.period(
            staker.start_time, staker.end_time, details.now, left=staker.left_time
        )

    @admin.display(description="Start and end")
    def times(self, staker: Staker) -> SafeString:
        """Return start and end of the period to the second."""
        return display.side_by_side(
            display.moment(staker.start_time), "–", display.moment(staker.end_time)
        )

    @admin.display(description="Phase")
    def state(self, staker: Staker) -> SafeString:
        """Return the phase, and for a past staker the outcome."""
        return display.phase(staker.phase, staker.outcome)

    @admin.display(description="Reward")
    def reward(self, staker: Any) -> SafeString:
        """Return the reward it was paid, or its potential reward."""
        details: StakerDetails = staker.details
        if details.paid is not None:
            return display.amount(details.paid or None)
        return display.amount(staker.potential_reward or None)

    @admin.display(description="Potential reward")
    def potential(self, staker: Staker) -> SafeString:
        """Return the potential reward."""
        return display.full_amount(staker.potential_reward or None)

    @admin.display(description="Rewards owner")
    @cached_on_row
    def rewards_owner_text(self, staker: Staker) -> SafeString:
        """Return the owner of the rewards."""
        return display.full_signers(owners_in(staker.rewards_owner))

    @admin.display(description="Added in block")
    def added(self, staker: Staker) -> SafeString:
        """Return the block that contains its transaction."""
        return display.block_link(staker.added_height)

    @admin.display(description="Current since block")
    def joined(self, staker: Staker) -> SafeString:
        """Return the block in which it became current."""
        return display.block_link(staker.joined_height)

    @admin.display(description="Left in block")
    def left(self, staker: Staker) -> SafeString:
        """Return the block in which it left, and the time."""
        if staker.left_height is None or staker.left_time is None:
            return display.NOTHING
        return display.side_by_side(
            display.block_link(staker.left_height), display.moment(staker.left_time)
        )

    @admin.display(description="Locked stake")
    @cached_on_row
    def locked(self, staker: Staker) -> SafeString:
        """Return the locked outputs, with their owners."""
        outputs = StakeOutput.objects.filter(staker_id=staker.pk).order_by("output_index")
        # An output of several owners has several rows.
        by_index = {output.output_index: output for output in outputs}
        if not by_index:
            return display.NOTHING
        return display.table(
            ("Output", "Amount", "Owners", "Locks"),
            (
                (
                    index,
                    display.full_amount(output.amount),
                    display.owners_of_output(output.output),
                    display.locks_of(rows.output_of(output.output)),
                )
                for index, output in by_index.items()
            ),
        )

    def reward_txs(self, staker: Staker) -> list[ID]:
        """Return the transactions to which the outputs with its rewards belong."""
        return [staker.pk]

    @admin.display(description="Paid rewards")
    @cached_on_row
    def paid(self, staker: Staker) -> SafeString:
        """Return the outputs that paid its reward."""
        rewards = auto_renewal.rewards_of(platform_chain(), self.reward_txs(staker))
        unspent = flows.unspent(reward.utxo_id for reward in rewards)
        paid = [
            (
                display.full_link(reward.utxo_id, links.page("utxo", reward.utxo_id))
                if reward.utxo_id in unspent
                else display.side_by_side(display.full(reward.utxo_id), display.badge("spent")),
                display.full_amount(reward.amount),
                display.owners_of_output(reward.output),
                display.block_link(reward.height),
            )
            for reward in rewards
        ]
        return (
            display.table(("UTXO", "Amount", "Owners", "Block"), paid) if paid else display.NOTHING
        )

    @override
    def export_cells(self, row: Any) -> Cells:
        details: StakerDetails = row.details
        owner = owners_in(row.rewards_owner)
        return (
            row.node, display.format_subnet(row.subnet_id), row.tx_id, Phase(row.phase).label,
            None if row.outcome is None else Outcome(row.outcome).label, row.weight,
            display.plain_coins(row.weight) if _earns(row) else None, format_iso(row.start_time),
            format_iso(row.end_time), None if row.left_time is None else format_iso(row.left_time),
            row.potential_reward, details.paid,
            " ".join(map(display.format_owner, owner.addresses)) if owner else None,
            owner.threshold if owner else None,
        )  # fmt: skip


def owners_in(data: bytes | None) -> OutputOwners | None:
    """Return the owners stored in a column."""
    return None if data is None else rows.owners_of(data)


def _earns(staker: Staker) -> bool:
    """Return whether it earns a reward on staked coins; permissioned validators of subnets do not."""
    return staker.rewards_owner is not None
