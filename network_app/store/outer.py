"""Outer blocks of accepted blocks: what they are wrapped in, without what is inside."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from chaindb import bulk, sql
from network_app.models import Certificate, OuterBlock, outer_id
from network_app.ports import BlockPlace
from primitives.ids import ID, NodeID

_COLUMNS = (
    "id", "chain", "height", "block_id", "kind", "time", "p_chain_height", "epoch_height",
    "epoch_number", "epoch_start", "proposer", "signature",
)  # fmt: skip

_SELECT = """
SELECT o.height, o.block_id, o.kind, o.time, o.p_chain_height, o.epoch_height, o.epoch_number,
       o.epoch_start, o.proposer_id, o.signature, c.der
FROM network_app_outerblock o LEFT JOIN network_app_certificate c ON c.node_id = o.proposer_id
"""
_LATEST = f"{_SELECT} WHERE o.chain = %s ORDER BY o.height DESC LIMIT %s"
_BETWEEN = f"{_SELECT} WHERE o.chain = %s AND o.height BETWEEN %s AND %s ORDER BY o.height"
_TIP = "SELECT block_id FROM network_app_outerblock WHERE chain = %s ORDER BY height DESC LIMIT 1"
_IDS = "SELECT height, block_id FROM network_app_outerblock WHERE id IN ({keys})"
_PLACES = (
    "SELECT block_id, height FROM network_app_outerblock WHERE chain = %s AND block_id IN ({keys})"
)
_CERTIFICATES = "SELECT node_id FROM network_app_certificate WHERE node_id IN ({keys})"


class Wrapping(NamedTuple):
    """What a block is wrapped in (p2p.md 11.1)."""

    height: int
    block_id: ID
    kind: int
    time: int | None
    """Unix seconds; None of options."""
    p_chain_height: int | None
    epoch_height: int | None
    epoch_number: int | None
    epoch_start: int | None
    proposer: NodeID | None
    """None where nobody signed."""
    signature: bytes
    certificate: bytes
    """The proposer's, DER."""

    @property
    def place(self) -> BlockPlace:
        """Where the block stands."""
        return BlockPlace(self.height, self.block_id)


def tip_id(alias: str) -> ID | None:
    """Return the last outer block's ID, or None when there is none."""
    row = sql.row(_TIP, (alias,))
    return None if row is None else ID(bytes(row[0]))


def latest(alias: str, count: int) -> list[Wrapping]:
    """Return the last outer blocks of a chain, the very last one first."""
    return [_wrapping(row) for row in sql.rows(_LATEST, (alias, count))]


def between(alias: str, first: int, last: int) -> list[Wrapping]:
    """Return the outer blocks at heights first to last, in order."""
    return [_wrapping(row) for row in sql.rows(_BETWEEN, (alias, first, last))]


def ids_at(alias: str, heights: Sequence[int]) -> dict[int, ID]:
    """Return the IDs of those of the outer blocks at these heights that are there."""
    found = sql.rows_by_keys(_IDS, [outer_id(alias, height) for height in heights])
    return {height: ID(bytes(block_id)) for height, block_id in found}


def heights_of(alias: str, block_ids: Sequence[ID]) -> dict[ID, int]:
    """Return the heights of those blocks that are there."""
    found = sql.rows_by_keys(_PLACES, list(block_ids), (alias,))
    return {ID(bytes(block_id)): height for block_id, height in found}


def add(alias: str, wrappings: Sequence[Wrapping]) -> None:
    """Store outer blocks, and the certificates of those who signed them.

    The caller holds the transaction in which the blocks inside are accepted, or in which blocks that
    were made here are wrapped.
    """
    signers = {one.proposer: one.certificate for one in wrappings if one.proposer is not None}
    known = {bytes(row[0]) for row in sql.rows_by_keys(_CERTIFICATES, list(signers))}
    missing = [
        (node_id, str(node_id), der)
        for node_id, der in signers.items()
        if bytes(node_id) not in known
    ]
    bulk.upsert(Certificate, ("node_id", "node", "der"), missing)
    bulk.insert(OuterBlock, _COLUMNS, (_row(alias, one) for one in wrappings))


def _row(alias: str, one: Wrapping) -> bulk.Row:
    return (
        outer_id(alias, one.height), alias, one.height, one.block_id, one.kind, one.time,
        one.p_chain_height, one.epoch_height, one.epoch_number, one.epoch_start, one.proposer,
        one.signature,
    )  # fmt: skip


def _wrapping(row: tuple[Any, ...]) -> Wrapping:
    height, block_id, kind, *times, node_id, signature, certificate = row
    proposer = None if node_id is None else NodeID(bytes(node_id))
    der = b"" if certificate is None else bytes(certificate)
    return Wrapping._make(
        (height, ID(bytes(block_id)), kind, *times, proposer, bytes(signature), der)
    )
