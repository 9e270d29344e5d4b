"""The rewind counter: how often the rows of a database were replaced by earlier ones.

Caches of those rows compare it. Heights and hashes do not suffice: after a rewind a chain may grow
to the same height with other blocks.
"""

from typing import Final

from chaindb.database import Database, SqlQuery
from chaindb.models import Generation

QUERY: Final[SqlQuery] = ("SELECT number FROM chaindb_generation", ())


def number(db: Database) -> int:
    """Return how often the rows were rewound, usually 0. Runs one statement."""
    row = db.row(*QUERY)
    return 0 if row is None else int(row[0])


def advance(db: Database) -> int:
    """Count a rewind of the rows in this transaction, and return the new number.

    The caller holds the locks of all rows that are rewound.
    """
    row, _ = db.objects(Generation).select_for_update().get_or_create(id=1, defaults={"number": 0})
    row.number += 1
    row.save(using=db.alias, update_fields=["number"])
    return row.number


def reach(db: Database, number: int) -> None:
    """Count rewinds of the rows up to a number, in this transaction: that of the node's database, rewound with this one."""
    db.objects(Generation).update_or_create(id=1, defaults={"number": number})
