"""The rows of accepted transactions."""

from collections.abc import Iterable, Iterator, Sequence

from typing_extensions import override

from chaindb.database import Database, Row
from platform_app import models
from platform_app.store import rows
from platform_app.store.facet import Commit, FacetRows
from platform_app.txs.base import Tx
from primitives.ids import ID

_TX = ("id", "tx_id", "height", "index", "kind", "status", "burned", "raw")
_TXS = "SELECT tx_id, raw FROM platform_app_tx WHERE tx_id IN ({keys})"


class TxRows(FacetRows):
    """Reads and writes accepted transactions."""

    __slots__ = ("_txs",)

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self._txs: dict[ID, Tx | None] = {}

    @override
    def prefetch(self, txs: Sequence[Tx]) -> None:
        """Read which of the transactions are accepted already."""
        self.load(tx.tx_id for tx in txs)

    def load(self, tx_ids: Iterable[ID]) -> None:
        """Read accepted transactions, hundreds per statement."""
        wanted = [tx_id for tx_id in set(tx_ids) if tx_id not in self._txs]
        self._txs.update(dict.fromkeys(wanted))
        for tx_id, raw in self._db.rows_by_keys(_TXS, wanted):
            self._txs[ID(bytes(tx_id))] = rows.accepted_tx(raw)

    def get(self, tx_id: ID) -> Tx | None:
        """Return an accepted transaction, whether committed or aborted."""
        if tx_id not in self._txs:
            self.load([tx_id])
        return self._txs[tx_id]

    @override
    @staticmethod
    def write(commit: Commit) -> None:
        """Write the transactions of the blocks."""
        commit.db.insert(models.Tx, _TX, _tx_rows(commit))


def _tx_rows(commit: Commit) -> Iterator[Row]:
    for tx, status in commit.diff.txs.changes():
        place = commit.places[tx.tx_id]
        yield (
            commit.position(tx.tx_id), tx.tx_id, *place, rows.kind_of(tx), status.value,
            rows.burned(tx, commit.asset_id), tx.raw,
        )  # fmt: skip
