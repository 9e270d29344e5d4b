"""How often the rows of a database were replaced by earlier ones: what is remembered of them asks for this.

Heights and hashes do not tell: a chain that went back may grow to where it was again, with other blocks.
"""

from typing import Final

from chaindb.database import Database, Question
from chaindb.models import Generation

QUESTION: Final[Question] = ("SELECT number FROM chaindb_generation", ())


def number(db: Database) -> int:
    """Return how often the rows went back: 0 of most databases. One statement."""
    found = db.row(*QUESTION)
    return 0 if found is None else int(found[0])


def advance(db: Database) -> int:
    """Note that the rows go back in this transaction, and return the new number.

    The caller holds the locks of all that goes back.
    """
    row, _ = db.objects(Generation).select_for_update().get_or_create(id=1, defaults={"number": 0})
    row.number += 1
    row.save(using=db.alias, update_fields=["number"])
    return row.number
