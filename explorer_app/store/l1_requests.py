"""Reads and writes the rows of requested L1s, which all processes of the node share."""

from datetime import datetime
from typing import Any, Final, NamedTuple

from chaindb.database import Database
from explorer_app.models import L1Request
from primitives.ids import ID

UNFINISHED: Final = L1Request.UNFINISHED
FAILED: Final = L1Request.FAILED
DONE: Final = L1Request.DONE


class L1RequestRow(NamedTuple):
    """An L1 that a user wants, and how far it is."""

    name: str
    terms: str
    """JSON."""
    genesis: str
    began_at: datetime
    state: str = UNFINISHED
    """UNFINISHED, FAILED or DONE."""
    step: str = ""
    error: str = ""
    subnet_id: ID | None = None
    blockchain_id: ID | None = None
    validation_id: ID | None = None

    @property
    def is_done(self) -> bool:
        """Whether all steps are done."""
        return self.state == DONE

    @property
    def has_failed(self) -> bool:
        """Whether a step failed."""
        return self.state == FAILED


def add(db: Database, row: L1RequestRow) -> None:
    """Write the row of a request. The caller holds the transaction."""
    db.objects(L1Request).create(**row._asdict())


def note(db: Database, name: str, **changes: Any) -> None:
    """Change columns of a row, in a transaction of its own that survives the loss of power."""
    with db.atomic(durable=True):
        db.objects(L1Request).filter(pk=name).update(**changes)


def remove(db: Database, name: str) -> None:
    """Delete a row. The caller holds the transaction."""
    db.objects(L1Request).filter(pk=name).delete()


def row_of(db: Database, name: str) -> L1RequestRow | None:
    """Return the row of a name, or None."""
    found = db.objects(L1Request).filter(pk=name).first()
    return None if found is None else _row(found)


def of_subnet(db: Database, subnet_id: ID) -> L1RequestRow | None:
    """Return the row of the L1 of a subnet, or None if its creation was not begun here."""
    found = db.objects(L1Request).filter(subnet_id=subnet_id).first()
    return None if found is None else _row(found)


def unfinished(db: Database) -> list[L1RequestRow]:
    """Return the rows of requests that are not done, the latest first."""
    return [_row(found) for found in db.objects(L1Request).exclude(state=DONE)]


def _row(found: L1Request) -> L1RequestRow:
    return L1RequestRow(
        found.name,
        found.terms,
        found.genesis,
        found.began_at,
        found.state,
        found.step,
        found.error,
        *(
            None if key is None else ID(bytes(key))
            for key in (found.subnet_id, found.blockchain_id, found.validation_id)
        ),
    )
