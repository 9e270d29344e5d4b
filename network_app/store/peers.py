"""Writes the connected peers, and the status of the network process."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db.models import DurationField, ExpressionWrapper, F, Q, QuerySet
from django.db.models.functions import Now

from network_app.models import NetworkStatus, Peer
from network_app.ports import DialFailure, NetworkTotals, PeerInfo
from primitives.ids import NodeID

_UPDATED = (
    "ip", "public_ip", "version", "upgrade_time", "outbound", "connected_since", "last_seen",
    "last_sent", "last_received", "observed_uptime", "tracked_subnets", "supported_acps",
    "objected_acps", "benched",
)  # fmt: skip

REMEMBERED_TIME = timedelta(days=30)
"""Time for which a disconnected node is remembered."""
MAX_REMEMBERED = 10_000
"""Maximum number of disconnected nodes that are remembered."""
MAX_IMMEDIATE = 256
"""Number of rows below which any connected peer gets a row immediately."""
MIN_CONNECTED_TIME = timedelta(minutes=5)
"""Time for which an unknown peer must be connected to get a row when there are more."""

PARDON = timedelta(seconds=30)
"""Validity of a pardon by the database's clock; the network process checks for pardons each second."""

_DISCONNECTED: Final[Mapping[str, Any]] = {
    "connected_since": None,
    "benched": [],
    "pardoned_at": None,
}
"""Fields of a disconnected node; only connected peers are shown as benched."""


def write_connected(
    connected: Sequence[PeerInfo], benched: Mapping[NodeID, Collection[str]], now: datetime
) -> None:
    """Store the connected peers, and mark all others as disconnected.

    Only few new unknown peers are stored immediately, because a node could connect with a new certificate
    each second. The caller holds the transaction.
    """
    here = [peer.node_id for peer in connected]
    stored = dict(Peer.objects.filter(node_id__in=here).values_list("node_id", "connected_since"))
    new = [peer for peer in connected if peer.node_id not in stored]
    chosen = {peer.node_id for peer in _peers_to_store(new, now)}
    connected = [peer for peer in connected if peer.node_id in stored.keys() | chosen]
    Peer.objects.filter(connected_since__isnull=False).exclude(node_id__in=here).update(
        **_DISCONNECTED
    )
    Peer.objects.bulk_create(
        [_row(peer, benched.get(peer.node_id, ()), now) for peer in connected],
        update_conflicts=True,
        update_fields=_UPDATED,
        unique_fields=["node_id"],
    )
    reconnected = [
        peer.node_id
        for peer in connected
        if peer.node_id in stored and stored[peer.node_id] != _moment(peer.connected_at)
    ]
    Peer.objects.filter(node_id__in=reconnected).update(times_connected=F("times_connected") + 1)


def _peers_to_store(new: Sequence[PeerInfo], now: datetime) -> list[PeerInfo]:
    """Return the new peers that get a row: known peers, long-connected peers, and a few others."""
    if not new:
        return []
    slots_left = max(0, MAX_IMMEDIATE - Peer.objects.count())
    chosen: list[PeerInfo] = []
    for peer in new:
        if peer.known or now - _moment(peer.connected_at) >= MIN_CONNECTED_TIME:
            chosen.append(peer)
        elif slots_left:
            slots_left -= 1
            chosen.append(peer)
    return chosen


def pardon(node_id: NodeID) -> bool:
    """Request that a benched peer gets queries again; return whether it is connected and benched."""
    connected = Peer.objects.filter(node_id=node_id, connected_since__isnull=False)
    return bool(connected.exclude(benched=[]).update(pardoned_at=Now()))


def has_pardons(benched: Collection[NodeID]) -> bool:
    """Return whether there may be a pardon for one of the benched peers."""
    return _pardoned(benched).exists()


def take_pardons(benched: Collection[NodeID]) -> list[NodeID]:
    """Return the benched peers with a pardon, and delete the pardons.

    An expired pardon was for an earlier bench period, which has already ended. The caller holds the
    transaction.
    """
    pardoned = _pardoned(benched)
    age = ExpressionWrapper(Now() - F("pardoned_at"), output_field=DurationField())
    found = dict(pardoned.annotate(age=age).values_list("node_id", "age"))
    if found:
        pardoned.update(pardoned_at=None)
    return [NodeID(bytes(node_id)) for node_id, age in found.items() if age <= PARDON]


def _pardoned(benched: Collection[NodeID]) -> QuerySet[Peer]:
    return Peer.objects.filter(node_id__in=list(benched), pardoned_at__isnull=False)


def forget_connections() -> None:
    """Mark all peers as disconnected and not benched, when the network process starts."""
    Peer.objects.filter(Q(connected_since__isnull=False) | ~Q(benched=[])).update(**_DISCONNECTED)


def prune(now: datetime) -> int:
    """Delete nodes that were not seen for long, and the oldest beyond the limit; return their number.

    The limit is needed because nodes can connect with ever new certificates.
    """
    gone = Peer.objects.filter(connected_since=None)
    forgotten, _ = gone.filter(last_seen__lt=now - REMEMBERED_TIME).delete()
    beyond = gone.order_by("-last_seen").values_list("last_seen", flat=True)[MAX_REMEMBERED:][:1]
    for last_seen in beyond:
        surplus, _ = gone.filter(last_seen__lte=last_seen).delete()
        forgotten += surplus
    return forgotten


def write_status(
    *,
    ip: str,
    started: datetime,
    now: datetime,
    connected: int,
    known: int,
    totals: NetworkTotals,
    failures: Sequence[DialFailure] = (),
) -> None:
    """Store the status of the network process."""
    NetworkStatus.objects.update_or_create(
        id=1,
        defaults={
            "started_at": started,
            "heartbeat_at": now,
            "ip": ip,
            "connected": connected,
            "known": known,
            "messages_sent": totals.messages_sent,
            "messages_received": totals.messages_received,
            "bytes_sent": totals.bytes_sent,
            "bytes_received": totals.bytes_received,
            "send_failures": totals.send_failures,
            "send_fail_rate": totals.send_fail_rate,
            "last_sent_at": None if totals.last_sent is None else _moment(totals.last_sent),
            "last_received_at": (
                None if totals.last_received is None else _moment(totals.last_received)
            ),
            "times_connected": totals.times_connected,
            "times_disconnected": totals.times_disconnected,
            "dial_failures": [failure._asdict() for failure in failures],
        },
    )


def _row(peer: PeerInfo, benched: Collection[str], now: datetime) -> Peer:
    return Peer(
        node_id=peer.node_id,
        node=str(peer.node_id),
        ip=peer.ip,
        public_ip=peer.public_ip,
        version=peer.version,
        upgrade_time=peer.upgrade_time,
        outbound=peer.outbound,
        connected_since=_moment(peer.connected_at),
        first_seen=_moment(peer.connected_at),
        last_seen=now,
        last_sent=_moment(peer.last_sent),
        last_received=_moment(peer.last_received),
        observed_uptime=peer.observed_uptime,
        tracked_subnets=[str(subnet_id) for subnet_id in peer.tracked_subnets],
        supported_acps=list(peer.supported_acps),
        objected_acps=list(peer.objected_acps),
        benched=sorted(benched),
    )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
