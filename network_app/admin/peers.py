"""Peers in the admin: their connections, uptimes and stakes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.actions import ActionEffect, ActionRefused, AdminAction
from adminkit.changelist import ListChoice
from adminkit.terms import IdentifierTerm
from chaindb import clock
from network_app import selectors, services
from network_app.admin import display
from network_app.admin.rows import NetworkRowsAdmin
from network_app.models import Peer
from network_app.services import PardonRefused
from platform_app.admin.display import format_fraction
from platform_app.apps import platform_chain
from platform_app.chain import NoPlatformGenesis
from platform_app.config import MILLION
from platform_app.executor.proposal import required_uptime
from platform_app.memory.stakers import ValidatorRecord
from platform_app.models import Phase, Validator
from platform_app.selectors import stakers
from primitives.ids import PRIMARY_NETWORK_ID, NodeID


@dataclass(frozen=True, slots=True)
class PeerDetails:
    """Facts about one peer; None where they do not apply."""

    now: datetime
    reported: bool
    """Whether the network process reports; otherwise it is unknown which peers are connected."""
    stake: int | None = None
    """Stake of a current validator including its delegators, in smallest units."""
    uptime: float | None = None
    """Fraction of its time that a current validator was online, as observed by this node; None if never."""
    enough: bool = False
    """Whether that fraction suffices for the validator's reward."""
    required: int | None = None
    """Percent of uptime that this node needs for its reward; None if it does not validate, so that no peer observes it."""


def read(found: Sequence[Peer]) -> list[PeerDetails]:
    """Return the facts about peers, in their order, in at most four statements."""
    if not found:
        return []
    status, now = selectors.status(), datetime.now(UTC)
    reported = status is not None and selectors.is_fresh(status)
    current = _current()
    stakes = {node_id: one.weight + one.delegator_weight for node_id, one in current.items()}
    uptimes = _uptimes([peer.node_id for peer in found if peer.node_id in stakes])
    required = _required(current)
    details = []
    for peer in found:
        uptime, enough = uptimes.get(peer.node_id, (None, False))
        stake = stakes.get(peer.node_id)
        details.append(PeerDetails(now, reported, stake, uptime, enough, required))
    return details


def _required(current: Mapping[NodeID, ValidatorRecord]) -> int | None:
    chain = platform_chain()
    try:
        own = current.get(chain.node_id)
    except OSError:  # the certificate is created on the first start
        return None
    return None if own is None else required_uptime(chain.config, own.start) // (MILLION // 100)


def _current() -> Mapping[NodeID, ValidatorRecord]:
    try:
        return stakers.current_validators(platform_chain()).by_node
    except NoPlatformGenesis:
        return {}


def _uptimes(nodes: Sequence[NodeID]) -> dict[NodeID, tuple[float, bool]]:
    """Return the observed fractions, and whether they suffice for rewards."""
    if not nodes:
        return {}
    now, since = clock.now(), stakers.tracked_since(platform_chain())
    config = platform_chain().config
    return {
        node_id: (fraction, fraction * MILLION >= required_uptime(config, seen.start))
        for node_id, seen in stakers.uptimes(platform_chain(), nodes).items()
        if (fraction := seen.observed(now, since)) is not None
    }


_VALIDATING = Validator.objects.filter(
    subnet_id=PRIMARY_NETWORK_ID, phase__lt=Phase.PAST, phase=Phase.CURRENT, is_delegator=False
)


def _not_benched(peer: Peer) -> str:
    return "" if peer.benched else "it is not benched: it gets requests like other peers."


def _unbench(peer: Peer) -> ActionEffect:
    """Request that a benched peer be asked again."""
    try:
        services.pardon(platform_chain().db, peer.node_id)
    except PardonRefused as error:
        raise ActionRefused(f"{error}.") from error
    count = len(peer.benched)
    return ActionEffect(
        f"{peer.node_id} gets requests again on all chains.",
        f"It was benched on {count} chain{'' if count == 1 else 's'}.",
        [("Peer", display.page("peer", peer.pk))],
    )


@admin.register(Peer)
class PeerAdmin(NetworkRowsAdmin):
    """Nodes that have been connected at least once, by node ID."""

    absent_because = "It was never connected, or its record was deleted after a long absence."
    list_display = (
        "short_node", "listed_state", "address", "release", "stake", "measured", "observed",
    )  # fmt: skip
    ordering = ("node_id",)
    row_actions = (
        AdminAction(
            name="ask-again",
            button="Unbench",
            question="Unbench this peer?",
            consequence="Its failures are cleared on all chains, and it gets requests like other peers. If it fails to "
            "answer again, it is benched again.",
            permission="network_app.change_peer",
            do=_unbench,
            obstacle=_not_benched,
        ),
    )
    search_fields = ("node_id", "ip", "public_ip")
    search_help_text = "Node ID, IP address, or IP:port"
    choices = (
        ListChoice("connected", "Connected", (Q(connected_since__isnull=False),)),
        ListChoice("validators", "Validators", (Q(node_id__in=_VALIDATING.values("node_id")),)),
        ListChoice("gone", "Not connected", (Q(connected_since__isnull=True),)),
        ListChoice("all", "All"),
    )
    fieldsets = (
        (None, {"fields": ("full_node", "state", "times", "connected", "first", "last")}),
        ("Address", {"fields": ("connection", "direction", "signed_address")}),
        ("Stake and uptime", {"fields": ("full_stake", "measured", "observed")}),
        ("Protocol", {"fields": (
            "release", "upgrade", "subnets", "supported", "objected", "sent", "received", "bench",
        )}),
    )  # fmt: skip

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        if term.node_id is not None:
            return [Q(pk=term.node_id)]
        return [_at(term.text)]

    @override
    def prepare(self, rows: Sequence[Any]) -> None:
        for peer, facts in zip(rows, read(rows), strict=True):
            peer.facts = facts

    @override
    def action_details(self, row: Peer) -> Sequence[tuple[str, object]]:
        return (("Node", display.full(row.node_id)), ("Benched on", self.bench(row)))

    @admin.display(description="Node")
    def short_node(self, peer: Peer) -> SafeString:
        """Return the node for the list."""
        return display.short_node(peer.node_id)

    @admin.display(description="Node")
    def full_node(self, peer: Peer) -> SafeString:
        """Return the node in full, with links to its stakes and its blocks."""
        return display.one_per_line(
            display.full(peer.node_id),
            display.side_by_side(
                display.link("As a validator ›", display.validator_page(peer.node_id)),
                display.link("Its blocks ›", display.proposer_page(peer.node_id)),
            ),
        )

    @admin.display(description="State")
    def state(self, peer: Any) -> SafeString:
        """Return whether the peer is connected and since when, or when it was last connected."""
        facts: PeerDetails = peer.facts
        if peer.connected_since is None:
            last = display.age_of(peer.last_seen, facts.now)
            return display.pair(display.badge("not connected"), f"last {last}")
        if not facts.reported:
            # The network process has stopped, so this is its last report.
            last = display.age_of(peer.last_seen, facts.now)
            return display.pair(display.badge("unknown", "wait"), f"seen {last}")
        began = display.age_of(peer.connected_since, facts.now).removesuffix(" ago")
        return display.pair(display.badge("connected", "good"), f"for {began}")

    @admin.display(description="State")
    def listed_state(self, peer: Any) -> SafeString:
        """Return the state for the list, with the chains on which the peer is benched."""
        if not peer.benched:
            return self.state(peer)
        benched = display.side_by_side(display.muted("benched on"), self.bench(peer))
        return display.one_per_line(self.state(peer), benched)

    @admin.display(description="Connected since")
    def connected(self, peer: Any) -> SafeString:
        """Return when the current connection started."""
        return display.since(peer.connected_since, peer.facts.now)

    @admin.display(description="First seen")
    def first(self, peer: Any) -> SafeString:
        """Return when the peer was first connected."""
        return display.since(peer.first_seen, peer.facts.now)

    @admin.display(description="Last seen")
    def last(self, peer: Any) -> SafeString:
        """Return when the peer was last connected."""
        return display.since(peer.last_seen, peer.facts.now)

    @admin.display(description="Last sent to")
    def sent(self, peer: Any) -> SafeString:
        """Return when the last message was sent to the peer."""
        return display.since(peer.last_sent, peer.facts.now)

    @admin.display(description="Last received from")
    def received(self, peer: Any) -> SafeString:
        """Return when the last message from the peer arrived."""
        return display.since(peer.last_received, peer.facts.now)

    @admin.display(description="Times connected")
    def times(self, peer: Peer) -> str:
        """Return how often the peer was connected."""
        return f"{peer.times_connected:,}"

    @admin.display(description="Address")
    def address(self, peer: Peer) -> SafeString:
        """Return the connection's address, and which side opened it."""
        return display.pair(peer.ip, "outbound" if peer.outbound else "inbound")

    @admin.display(description="Connection")
    def connection(self, peer: Peer) -> str:
        """Return the connection's address."""
        return peer.ip

    @admin.display(description="Direction")
    def direction(self, peer: Peer) -> str:
        """Return which side opened the connection."""
        return (
            "outbound: this node dialled it" if peer.outbound else "inbound: it dialled this node"
        )

    @admin.display(description="Signed address")
    def signed_address(self, peer: Peer) -> str:
        """Return the address that the peer claims."""
        return peer.public_ip

    @admin.display(description="Version")
    def release(self, peer: Peer) -> str:
        """Return the peer's software version."""
        return peer.version

    @admin.display(description="Stake")
    def stake(self, peer: Any) -> SafeString:
        """Return the peer's stake including delegators; nothing if it does not validate."""
        return display.amount(peer.facts.stake)

    @admin.display(description="Stake")
    def full_stake(self, peer: Any) -> SafeString:
        """Return the peer's stake to the smallest unit."""
        if peer.facts.stake is None:
            return display.muted("not a validator")
        return display.full_amount(peer.facts.stake)

    @admin.display(description="Observed uptime")
    def measured(self, peer: Any) -> SafeString:
        """Return the fraction of its time as a validator that the peer was online, as observed by this node."""
        fraction = peer.facts.uptime
        if fraction is None:
            unseen = peer.facts.stake is not None
            return display.muted("not observed") if unseen else display.NOTHING
        enough = peer.facts.enough
        return display.share_bar(format_fraction(fraction), int(fraction * 100), enough=enough)

    @admin.display(description="This node's uptime, as reported")
    def observed(self, peer: Any) -> SafeString:
        """Return this node's uptime as reported by the peer; nothing while this node does not validate."""
        required = peer.facts.required
        if required is None:
            return display.NOTHING
        share = peer.observed_uptime
        return display.share_bar(f"{share} %", share, enough=share >= required)

    @admin.display(description="Benched on")
    def bench(self, peer: Peer) -> SafeString:
        """Return the chains on which the peer is benched because it did not answer."""
        found = [display.badge(display.title(item), "bad") for item in peer.benched]
        return display.side_by_side(*found) if found else display.NOTHING

    @admin.display(description="Latest upgrade")
    def upgrade(self, peer: Peer) -> SafeString:
        """Return the start of the latest upgrade that the peer knows; 0 means that it knows of none."""
        return display.moment(peer.upgrade_time) if peer.upgrade_time else display.NOTHING

    @admin.display(description="Tracked subnets")
    def subnets(self, peer: Peer) -> SafeString:
        """Return the subnets that the peer tracks besides the Primary Network."""
        found = [
            display.full_link(tracked_subnet, display.subnet_page(tracked_subnet))
            for tracked_subnet in peer.tracked_subnets
        ]
        return display.one_per_line(*found) if found else display.NOTHING

    @admin.display(description="Supports ACPs")
    def supported(self, peer: Peer) -> SafeString:
        """Return the ACPs that the peer supports."""
        return display.names(peer.supported_acps)

    @admin.display(description="Objects to ACPs")
    def objected(self, peer: Peer) -> SafeString:
        """Return the ACPs that the peer objects to."""
        return display.names(peer.objected_acps)


def _at(text: str) -> Q:
    """Return the condition for peers at an address: any port of an IP, or exactly IP:port."""
    host = text.removeprefix("[").removesuffix("]")
    try:
        ip = ip_address(host)
    except ValueError:
        return Q(ip=text) | Q(public_ip=text)
    start = f"[{ip}]:" if ip.version == 6 else f"{ip}:"
    return Q(ip__startswith=start) | Q(public_ip__startswith=start)
