"""The rows of supplies."""

from typing_extensions import override

from chaindb.database import Database
from platform_app import models
from platform_app.store.facet import Commit, FacetRows
from primitives.ids import ID

_SUPPLY = "SELECT amount FROM platform_app_supply WHERE subnet_id = %s"


class SupplyRows(FacetRows):
    """Reads and writes the current supplies."""

    __slots__ = ("_supplies",)

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self._supplies: dict[ID, int | None] = {}

    def get(self, subnet_id: ID) -> int | None:
        """Return the current supply of a subnet's staked asset."""
        if subnet_id not in self._supplies:
            row = self._db.row(_SUPPLY, (subnet_id,))
            self._supplies[subnet_id] = None if row is None else int(row[0])
        return self._supplies[subnet_id]

    @override
    @staticmethod
    def write(commit: Commit) -> None:
        """Write new supplies."""
        changes = commit.diff.supplies.changes()
        commit.db.upsert(models.Supply, ("subnet_id", "amount"), changes.items())
