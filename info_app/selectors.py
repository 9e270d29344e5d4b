"""Queries about this node: its address, its peers, the uptime they report, the version of its tables."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from chaindb.database import Database
from network_app import addresses
from network_app import selectors as network
from network_app.selectors import Uptimes
from network_app.settings import NetworkSettings
from platform_app.chain import PlatformChain
from platform_app.selectors import stakers
from primitives.ids import NodeID

_MIGRATIONS = """
SELECT app, MAX(name) FROM django_migrations
WHERE app IN ('platform_app', 'cchain_app', 'network_app') GROUP BY app
"""


class PeerRecord(NamedTuple):
    """A connected peer. Times have a time zone."""

    node_id: NodeID
    ip: str
    """host:port of the connection."""
    public_ip: str
    """host:port at which other nodes reach the peer."""
    version: str
    upgrade_time: int
    """Unix seconds."""
    last_sent: datetime
    last_received: datetime
    observed_uptime: int
    """This node's uptime as the peer reports it, in percent."""
    tracked_subnets: Sequence[str] = ()
    supported_acps: Sequence[int] = ()
    objected_acps: Sequence[int] = ()
    benched: Sequence[str] = ()
    """Aliases of the chains on which this node currently sends the peer no requests."""


def peers(node_ids: Collection[NodeID] = ()) -> list[PeerRecord]:
    """Return the connected peers among the given nodes; all connected peers if none are given."""
    return [
        PeerRecord(
            node_id=peer.node_id,
            ip=peer.ip,
            public_ip=peer.public_ip,
            version=peer.version,
            upgrade_time=peer.upgrade_time,
            last_sent=peer.last_sent,
            last_received=peer.last_received,
            observed_uptime=peer.observed_uptime,
            tracked_subnets=peer.tracked_subnets,
            supported_acps=peer.supported_acps,
            objected_acps=peer.objected_acps,
            benched=peer.benched,
        )
        for peer in network.peers(node_ids)
    ]


def uptime(chain: PlatformChain) -> Uptimes | None:
    """Return this node's uptime as peers report it, in percent; None if it is not a validator."""
    return network.uptime_of_self(chain)


def is_bootstrapped(alias: str) -> bool:
    """Return whether a chain (P, X or C) has finished its initial sync."""
    return network.is_bootstrapped(alias)


def advertised_address(peers: NetworkSettings) -> str:
    """Return the host:port at which peers can reach this node.

    Unspecified: before the network process has reported, this is the address from the settings.
    """
    reported = network.status()
    if reported is not None:
        return str(reported.ip)
    return str(addresses.advertised(peers))


def weights(chain: PlatformChain) -> dict[NodeID, int]:
    """Return the weight of each validator of the Primary Network, including its delegators."""
    current = stakers.current_validators(chain).validators
    return {
        validator.node_id: validator.weight + validator.delegator_weight for validator in current
    }


def database_version(db: Database) -> str:
    """Return the numbers of the newest migrations of P-Chain, C-Chain and network as a version.

    Unspecified: in the reference it is the version of its key-value store; here it changes whenever tables do.
    """
    newest = {app: int(name.partition("_")[0]) for app, name in db.rows(_MIGRATIONS)}
    order = ("platform_app", "cchain_app", "network_app")
    return "v" + ".".join(str(newest.get(app, 0)) for app in order)
