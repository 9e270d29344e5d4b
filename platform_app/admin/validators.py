"""Validators and delegators in the admin: stake, period, uptime and reward."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.export import Cells
from adminkit.read_only import cached_on_row
from platform_app.admin import auto_renewal, display, links
from platform_app.admin.staker_details import StakerDetails
from platform_app.admin.stakers import StakerAdmin, owners_in, phases
from platform_app.apps import platform_chain
from platform_app.config import MILLION
from platform_app.executor.proposal import required_uptime
from platform_app.models import Delegator, Phase, Staker, Validator
from primitives.ids import ID


@admin.register(Validator)
class ValidatorAdmin(StakerAdmin):
    """Staking periods of nodes as validators of subnets."""

    found_by = "node"
    choices = phases(is_delegator=False)
    is_delegator = False
    list_display = (
        "short_node", "state", "network", "stake", "delegated", "period", "online", "reward", "fee",
    )  # fmt: skip
    search_help_text = "Node, transaction, subnet or address"
    fieldsets = (
        (None, {"fields": ("full_node", "full_network", "state", "period", "times", "full_tx")}),
        ("Stake", {"fields": ("stake", "delegated", "fee", "locked")}),
        ("Reward", {"fields": (
            "online", "connection", "potential", "from_delegators", "paid", "rewards_owner_text",
            "delegation_owner_text",
        )}),
        ("Renewal", {"fields": ("next_period", "compounded", "restaked", "authority", "renewed")}),
        ("Blocks", {"fields": ("added", "joined", "left")}),
        ("BLS key", {"fields": ("bls_key", "possession")}),
    )  # fmt: skip
    export_headings = (
        *StakerAdmin.export_headings, "delegation_fee_percent", "delegator_count",
        "delegated_coins", "uptime_percent", "delegatee_reward",
    )  # fmt: skip

    @override
    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leave out the renewal of a validator that leaves at its end; show the latest rewards of one that is renewed."""
        shown: Any = super().get_fieldsets(request, obj)
        if obj is None:
            return shown
        if _terms(obj) is None:
            return tuple(part for part in shown if part[0] != "Renewal")
        return tuple((name, {"fields": _for_renewed(part["fields"])}) for name, part in shown)

    @override
    def reward_txs(self, staker: Any) -> list[ID]:
        if _terms(staker) is None:
            return super().reward_txs(staker)
        return _period_ends(staker)[: auto_renewal.MAX_PERIODS]

    @admin.display(description=f"Paid rewards (latest {auto_renewal.MAX_PERIODS} periods)")
    @cached_on_row
    def paid_of_periods(self, validator: Validator) -> SafeString:
        """Return the outputs that paid an auto-renewed validator's rewards in its latest periods."""
        return auto_renewal.with_limit(self.paid(validator), len(_period_ends(validator)))

    @admin.display(description="Next period")
    def next_period(self, validator: Any) -> SafeString | str:
        """Return the length of the period after this one."""
        return auto_renewal.show_next(_terms(validator))

    @admin.display(description="Restakes")
    def compounded(self, validator: Any) -> str:
        """Return the part of its rewards that is restaked at the end of this period."""
        return display.format_share(_terms(validator).auto_compound_shares)

    @admin.display(description="Restaked so far")
    def restaked(self, validator: Any) -> SafeString:
        """Return its restaked rewards, which are part of its stake."""
        return auto_renewal.show_restaked(_terms(validator))

    @admin.display(description="Authority")
    def authority(self, validator: Any) -> SafeString:
        """Return the keys that may change these terms."""
        return auto_renewal.show_authority(_terms(validator))

    @admin.display(description=f"Renewed periods (latest {auto_renewal.MAX_PERIODS})")
    @cached_on_row
    def renewed(self, validator: Validator) -> SafeString:
        """Return its latest finished periods, without the last one if it has left."""
        return auto_renewal.show_periods(_periods(validator))

    @admin.display(description="Delegated")
    def delegated(self, validator: Any) -> SafeString:
        """Return its current total delegation, linked to the delegators."""
        details: StakerDetails = validator.details
        if details.delegated is None:
            return display.NOTHING
        if not details.delegated.count:
            return display.muted("none")
        page = links.search_page("delegator", validator.node_id, show="current")
        count = details.delegated.count
        return display.one_per_line(
            display.amount(details.delegated.weight),
            display.link(f"{count:,} delegator{'' if count == 1 else 's'}", page),
        )

    @admin.display(description="Uptime")
    def online(self, validator: Any) -> SafeString:
        """Return the fraction of its time that it was online, coloured by whether that is enough for the reward."""
        details: StakerDetails = validator.details
        fraction = details.uptime
        if fraction is None:
            return display.muted("not observed") if details.unseen else display.NOTHING
        required = required_uptime(platform_chain().config, validator.start_time)
        enough = fraction * MILLION >= required
        return display.share_bar(
            display.format_fraction(fraction), int(fraction * 100), enough=enough
        )

    @admin.display(description="Connection")
    def connection(self, validator: Any) -> SafeString:
        """Return whether its node is connected to this one now."""
        details: StakerDetails = validator.details
        if details.delegated is None:
            return display.NOTHING
        if not details.tracked:
            return display.muted("no peers yet: all validators count as online")
        if details.connected_since is None:
            return display.badge("offline", "bad")
        return display.side_by_side(
            display.badge("connected", "good"), "since", display.moment(details.connected_since)
        )

    @admin.display(description="Delegation fee")
    def fee(self, validator: Validator) -> SafeString | str:
        """Return the share of its delegators' rewards that it keeps."""
        return (
            display.NOTHING if validator.shares is None else display.format_share(validator.shares)
        )

    @admin.display(description="Share of delegators’ rewards so far")
    def from_delegators(self, validator: Validator) -> SafeString:
        """Return its share of its delegators' rewards, paid with its own reward."""
        if validator.shares is None:
            return display.NOTHING
        return display.full_amount(validator.delegatee_reward)

    @admin.display(description="Delegation rewards owner")
    @cached_on_row
    def delegation_owner_text(self, validator: Validator) -> SafeString:
        """Return the owner of its share of the delegators' rewards."""
        return display.full_signers(owners_in(validator.delegation_rewards_owner))

    @admin.display(description="Public key")
    def bls_key(self, validator: Validator) -> SafeString:
        """Return its BLS key."""
        return display.key(validator.public_key)

    @admin.display(description="Proof of possession")
    def possession(self, validator: Validator) -> SafeString:
        """Return the proof of possession of the key."""
        return display.key(validator.proof_of_possession)

    @override
    def export_cells(self, row: Any) -> Cells:
        details: StakerDetails = row.details
        delegated = details.delegated
        return (
            *super().export_cells(row),
            None if row.shares is None else display.format_share(row.shares).removesuffix(" %"),
            delegated and delegated.count,
            delegated and display.plain_coins(delegated.weight),
            None if details.uptime is None else display.format_fraction(details.uptime)[:-2],
            None if row.phase == Phase.PENDING else row.delegatee_reward,
        )


def _terms(validator: Any) -> Any:
    """Return the terms of a validator's renewal, cached on the row; None if it leaves at its end."""
    if "terms" not in validator.__dict__:
        validator.terms = auto_renewal.terms_of(validator)
    return validator.terms


def _periods(validator: Any) -> Any:
    """Return the latest finished periods of an auto-renewed validator, cached on the row."""
    if "ended" not in validator.__dict__:
        validator.ended = auto_renewal.periods_of(validator)
    return validator.ended


def _period_ends(validator: Any) -> list[ID]:
    """Return the transactions that ended an auto-renewed validator's latest periods, the latest first."""
    left_by = _terms(validator).reward_tx_id
    last = [] if left_by is None else [left_by]
    return [*last, *(period.reward_tx_id for period in _periods(validator))]


def _for_renewed(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fields of a fieldset for an auto-renewed validator, which is paid at the end of each period."""
    return tuple("paid_of_periods" if name == "paid" else name for name in fields)


@admin.register(Delegator)
class DelegatorAdmin(StakerAdmin):
    """Delegations, the latest first."""

    found_by = "node"
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
        """Return the validator that it delegates to."""
        return display.node_link(delegator.node_id)
