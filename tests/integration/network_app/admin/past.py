"""A network with history: peers, sync states, outer blocks. The store writes all of it, derived from numbers."""

from datetime import UTC, datetime

from django.db import DEFAULT_DB_ALIAS, transaction

from chaindb.database import Database
from network_app import models
from network_app.ports import PeerInfo, SyncState
from network_app.store import outer, peers, sync
from network_app.store.outer import Wrapping
from primitives.hashing import sha256
from primitives.ids import ID, NodeID
from tests.builders import platform_history

VALIDATORS = 60
SIZES = platform_history.Sizes(VALIDATORS, 6, 0, 0, 3, 0, 0, 3, 0, 0, 0, 0)
PEERS = 130
"""Even peers are connected; the first `VALIDATORS` are validators."""
BLOCKS = 120
"""Number of outer blocks of each chain, from height 1."""
PROPOSERS = 3
OPTION, UNSIGNED = 5, 6
"""Heights of the P-Chain's unsigned blocks."""
HOUR = 3_600
TIME = 1_790_000_000
"""Unix time that outer block 0 would have."""


def node(number: int) -> NodeID:
    """Return the node ID of a peer."""
    if number < VALIDATORS:
        return platform_history.node(number)
    return NodeID(sha256(b"stranger %d" % number)[:20])


def certificate(number: int) -> bytes:
    """Return a placeholder for a node's certificate."""
    return b"certificate %d" % number


def block_id(chain: str, height: int) -> ID:
    """Return the ID of an outer block."""
    return ID(sha256(b"outer %s %d" % (chain.encode(), height)))


def peer(number: int, now: datetime) -> PeerInfo:
    """Return a peer in the form the connections report it, connected for three hours."""
    began = now.timestamp() - 3 * HOUR - 30
    return PeerInfo(
        node_id=node(number),
        ip=f"198.51.100.{number}:{50_000 + number}",
        public_ip=f"[2001:db8::{number:x}]:9651" if number % 5 == 0 else f"203.0.113.{number}:9651",
        version="avalanchego/1.14.2",
        upgrade_time=TIME,
        connected_at=began,
        last_sent=began + 60,
        last_received=began + 120,
        observed_uptime=min(number, 100),
        tracked_subnets=(platform_history.subnet_tx(1).tx_id,) if number == 4 else (),
        supported_acps=(23, 99) if number == 4 else (),
        objected_acps=(77,) if number == 4 else (),
        outbound=number % 4 == 0,
    )


def wrapping(chain: str, height: int) -> Wrapping:
    """Return an outer block: those of the C-Chain have an epoch; one is an option block, one is unsigned."""
    number = height % PROPOSERS
    made = Wrapping(
        height=height,
        block_id=block_id(chain, height),
        kind=2 if chain == "C" else 0,
        time=TIME + height,
        p_chain_height=height,
        epoch_height=height - 1 if chain == "C" else None,
        epoch_number=7 if chain == "C" else None,
        epoch_start=TIME - 60 if chain == "C" else None,
        proposer=node(number),
        signature=b"signature %d" % height,
        certificate=certificate(number),
    )
    if chain == "P" and height in {OPTION, UNSIGNED}:
        made = made._replace(proposer=None, signature=b"", certificate=b"")
    if chain == "P" and height == OPTION:
        made = made._replace(kind=1, time=None, p_chain_height=None)
    return made


@transaction.atomic
def write() -> None:
    """Write the P-Chain's history, peers and blocks."""
    platform_history.write_history(SIZES)
    now = datetime.now(UTC)
    everybody = [peer(number, now) for number in range(PEERS)]
    benched = {node(4): {"C", "P"}}
    peers.write_connected(everybody, benched, now)
    peers.write_connected(everybody[::2], benched, now)
    for item in range(BLOCKS):
        for chain in ("P", "C"):
            outer.add(Database(), chain, [wrapping(chain, item + 1)])
    for chain in ("P", "C"):
        models.BlockDecision.objects.bulk_create(_decided(chain, index) for index in range(BLOCKS))


@transaction.atomic
def begin_bootstrap(chain: str, *, height: int = 250, target: int = 1_000) -> None:
    """Write that a chain is bootstrapping."""
    sync.write(chain, SyncState(False, 0, height, target, fetched=4_321), datetime.now(UTC))


@transaction.atomic
def end_bootstrap(chain: str, *, height: int = 1_000) -> None:
    """Write that a chain has reached the frontier."""
    sync.write(chain, SyncState(True, 0, height, height), datetime.now(UTC))


def decision(number: int, chain: str = "C") -> int:
    """Return the key of the decision on a block; decisions added by a test have higher keys."""
    return -2 * (BLOCKS - number) - (chain == "P")


def _decided(chain: str, number: int) -> models.BlockDecision:
    at = datetime.fromtimestamp(TIME + number, UTC)
    return models.BlockDecision(
        pk=decision(number, chain), chain=chain, height=number + 1, block_id=block_id(chain, number + 1),
        parent_id=block_id(chain, number), proposer=str(node(number % 5)), accepted=number % 4 > 0,
        issued_at=at, decided_at=at, polls=20, rejected=0,
    )  # fmt: skip


def outer_key(chain: str, height: int) -> int:
    """Return the key of the outer block of a chain at a height."""
    return models.OuterBlock.objects.get(chain=chain, height=height).pk


def erase() -> None:
    """Delete all rows."""
    for model in (models.BlockDecision, models.OuterBlock, models.Certificate, models.Peer):
        model.objects.all()._raw_delete(DEFAULT_DB_ALIAS)
    platform_history.erase_history()
