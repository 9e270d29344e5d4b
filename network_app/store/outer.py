"""Rows of accepted outer blocks, without their inner blocks."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from chaindb.database import Database, Row
from network_app.models import Certificate, OuterBlock
from network_app.ports import BlockRef
from primitives.ids import ID, NodeID

_COLUMNS = (
    "chain", "height", "block_id", "kind", "time", "p_chain_height", "epoch_height",
    "epoch_number", "epoch_start", "proposer", "signature",
)  # fmt: skip

_SELECT = """
SELECT o.height, o.block_id, o.kind, o.time, o.p_chain_height, o.epoch_height, o.epoch_number,
       o.epoch_start, o.proposer_id, o.signature, c.der
FROM network_app_outerblock o LEFT JOIN network_app_certificate c ON c.node_id = o.proposer_id
"""
_LATEST = f"{_SELECT} WHERE o.chain = %s ORDER BY o.height DESC LIMIT %s"
_BETWEEN = f"{_SELECT} WHERE o.chain = %s AND o.height BETWEEN %s AND %s ORDER BY o.height"
_TIP = """
SELECT height, block_id FROM network_app_outerblock WHERE chain = %s ORDER BY height DESC LIMIT 1
"""
_IDS = "SELECT height, block_id FROM network_app_outerblock WHERE chain = %s AND height IN ({keys})"
_PLACES = (
    "SELECT block_id, height FROM network_app_outerblock WHERE chain = %s AND block_id IN ({keys})"
)
_CERTIFICATES = "SELECT node_id FROM network_app_certificate WHERE node_id IN ({keys})"


class Wrapping(NamedTuple):
    """The fields of an outer block without its inner block (p2p.md 11.1)."""

    height: int
    block_id: ID
    kind: int
    time: int | None
    """Unix seconds; None for options."""
    p_chain_height: int | None
    epoch_height: int | None
    epoch_number: int | None
    epoch_start: int | None
    proposer: NodeID | None
    """None if unsigned."""
    signature: bytes
    certificate: bytes
    """The proposer's certificate, DER."""

    @property
    def ref(self) -> BlockRef:
        """Height and ID of the block."""
        return BlockRef(self.height, self.block_id)


def tip(db: Database, alias: str) -> BlockRef | None:
    """Return height and ID of the last outer block, or None if there is no outer block."""
    row = db.row(_TIP, (alias,))
    return None if row is None else BlockRef(row[0], ID(bytes(row[1])))


def latest(db: Database, alias: str, count: int) -> list[Wrapping]:
    """Return the last outer blocks of a chain, highest first."""
    return [_wrapping(row) for row in db.rows(_LATEST, (alias, count))]


def between(db: Database, alias: str, first: int, last: int) -> list[Wrapping]:
    """Return the outer blocks at the heights from `first` to `last`, in order."""
    return [_wrapping(row) for row in db.rows(_BETWEEN, (alias, first, last))]


def ids_at(db: Database, alias: str, heights: Sequence[int]) -> dict[int, ID]:
    """Return the IDs of the outer blocks at these heights; missing ones are left out."""
    found = db.rows_by_keys(_IDS, heights, (alias,))
    return {height: ID(bytes(block_id)) for height, block_id in found}


def heights_of(db: Database, alias: str, block_ids: Sequence[ID]) -> dict[ID, int]:
    """Return the heights of these blocks; missing ones are left out."""
    found = db.rows_by_keys(_PLACES, list(block_ids), (alias,))
    return {ID(bytes(block_id)): height for block_id, height in found}


def add(
    db: Database, alias: str, wrappings: Sequence[Wrapping], known: Collection[NodeID] = ()
) -> set[NodeID]:
    """Store outer blocks, and the certificates of their signers.

    The caller holds the chain's lock and the transaction that accepts the inner blocks.

    Args:
        db: Database of the inner blocks.
        alias: Alias of the chain.
        wrappings: The blocks.
        known: Nodes whose certificates are known to be stored.

    Returns:
        The signers whose certificates were already stored.
    """
    signers = {item.proposer: item.certificate for item in wrappings if item.proposer is not None}
    asked = [node_id for node_id in signers if node_id not in known]
    found = {NodeID(bytes(row[0])) for row in db.rows_by_keys(_CERTIFICATES, asked)}
    # Sorted to avoid deadlocks, because the other chain may store the same certificates now.
    missing = sorted((node_id, signers[node_id]) for node_id in {*asked} - found)
    rows = ((node_id, str(node_id), der) for node_id, der in missing)
    db.upsert(Certificate, ("node_id", "node", "der"), rows)
    db.insert(OuterBlock, _COLUMNS, (_row(alias, wrapping) for wrapping in wrappings))
    return found


def delete_above(db: Database, alias: str, height: int) -> None:
    """Delete the outer blocks above a height, when a chain is rewound to it."""
    db.execute(
        "DELETE FROM network_app_outerblock WHERE chain = %s AND height > %s", (alias, height)
    )


def _row(alias: str, wrapping: Wrapping) -> Row:
    return (
        alias, wrapping.height, wrapping.block_id, wrapping.kind, wrapping.time, wrapping.p_chain_height, wrapping.epoch_height,
        wrapping.epoch_number, wrapping.epoch_start, wrapping.proposer, wrapping.signature,
    )  # fmt: skip


def _wrapping(row: tuple[Any, ...]) -> Wrapping:
    height, block_id, kind, *times, node_id, signature, certificate = row
    proposer = None if node_id is None else NodeID(bytes(node_id))
    der = b"" if certificate is None else bytes(certificate)
    return Wrapping._make(
        (height, ID(bytes(block_id)), kind, *times, proposer, bytes(signature), der)
    )
