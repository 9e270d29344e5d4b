"""The rows of the blockchains of subnets."""

from typing import Final, NamedTuple

from cchain_app.models import SubnetChain
from chaindb.database import Database
from primitives.ids import ID

RUNNING: Final = SubnetChain.RUNNING
REFUSED: Final = SubnetChain.REFUSED
UNTRACKED: Final = SubnetChain.UNTRACKED
DELETED: Final = SubnetChain.DELETED


class SubnetChainRow(NamedTuple):
    """A row: a blockchain of a subnet, and how this node runs it."""

    blockchain_id: ID
    subnet_id: ID
    name: str
    vm_id: ID
    state: str
    """RUNNING, REFUSED, UNTRACKED or DELETED."""
    reason: str = ""
    """Why it does not run, or why no block can follow its last one; empty otherwise."""
    rules: str = ""
    database: str = ""
    """The alias of the database with its blocks, whether it runs or not; empty if it has never run."""
    chain_id: int | None = None


def record(db: Database, row: SubnetChainRow) -> bool:
    """Write the row of a chain, or replace it; return whether it was written. The state DELETED is final.

    The caller holds a transaction.
    """
    values = row._asdict() | {"blockchain": str(row.blockchain_id)}
    key = {"blockchain_id": values.pop("blockchain_id")}
    found = db.objects(SubnetChain)
    if row.state == DELETED:
        found.update_or_create(**key, defaults=values)
        return True
    _, is_new = found.get_or_create(**key, defaults=values)
    # One statement tests and writes: another process may delete the chain at any time.
    return is_new or found.filter(**key).exclude(state=DELETED).update(**values) > 0


def note_reason(db: Database, blockchain_id: ID, reason: str) -> bool:
    """Write why no block can follow the last one of a chain that runs; return whether that has changed."""
    found = db.objects(SubnetChain).filter(blockchain_id=blockchain_id, state=RUNNING)
    return found.exclude(reason=reason).update(reason=reason) > 0


def row_of(db: Database, blockchain_id: ID) -> SubnetChainRow | None:
    """Return the row of a chain, or None."""
    found = db.objects(SubnetChain).filter(blockchain_id=blockchain_id).first()
    return None if found is None else _row(found)


def deleted(db: Database) -> set[ID]:
    """Return the IDs of the chains that were deleted here."""
    found = db.objects(SubnetChain).filter(state=DELETED).order_by()
    return {ID(bytes(key)) for key in found.values_list("blockchain_id", flat=True)}


def rows(db: Database) -> list[SubnetChainRow]:
    """Return all rows, ordered by name and ID."""
    return [_row(found) for found in db.objects(SubnetChain).order_by("name", "blockchain_id")]


def _row(found: SubnetChain) -> SubnetChainRow:
    return SubnetChainRow(
        found.blockchain_id,
        found.subnet_id,
        found.name,
        found.vm_id,
        found.state,
        found.reason,
        found.rules,
        found.database,
        found.chain_id,
    )
