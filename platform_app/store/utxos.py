"""The rows of outputs: unspent outputs and their owners, and rewards. Exported outputs are in `shared_app`."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from typing_extensions import override

from chaindb.database import Database, Row
from chainvm.shared_memory import AtomicRequests
from platform_app import models
from platform_app.state.utxos import UTXOChanges
from platform_app.store import rows
from platform_app.store.facets import Commit, FacetRows
from platform_app.txs.base import LockOut, Tx, inner_output
from platform_app.txs.subnets import ImportTx
from primitives.ids import ID, P_CHAIN_ID
from shared_app.store import SharedRows
from utxo.components import UTXO

_OUTPUT = (
    "tx_id",
    "output_index",
    "asset_id",
    "amount",
    "locktime",
    "threshold",
    "height",
    "output",
)
_UTXO = ("utxo_id", *_OUTPUT, "stakeable_locktime")
_REWARD = ("utxo_id", "tx_id", "output_index", "asset_id", "amount", "height", "output")

_UTXOS = """
SELECT utxo_id, tx_id, output_index, asset_id, output FROM platform_app_utxo
WHERE utxo_id IN ({keys})
"""
_SPENT = "SELECT utxo_id, output FROM platform_app_utxo WHERE utxo_id IN ({keys})"


class UTXORows(FacetRows):
    """Reads unspent and shared outputs; writes the changes of all outputs."""

    __slots__ = ("_shared", "_utxos")

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self._utxos: dict[ID, UTXO | None] = {}
        self._shared: dict[tuple[ID, ID], UTXO] = {}

    @override
    def prefetch(self, txs: Sequence[Tx]) -> None:
        """Read the outputs that transactions spend."""
        spent: set[ID] = set()
        imported: defaultdict[ID, set[ID]] = defaultdict(set)
        for tx in txs:
            spent.update(tx_input.utxo_id for tx_input in getattr(tx.unsigned, "inputs", ()))
            if isinstance(tx.unsigned, ImportTx):
                imported[tx.unsigned.source_chain].update(
                    imported_tx_input.utxo_id for imported_tx_input in tx.unsigned.imported_inputs
                )
        self.load(spent)
        for peer_chain, utxo_ids in imported.items():
            self.load_shared(peer_chain, utxo_ids)

    def load(self, utxo_ids: Iterable[ID]) -> None:
        """Read outputs of this chain, hundreds per statement."""
        wanted = [utxo_id for utxo_id in set(utxo_ids) if utxo_id not in self._utxos]
        self._utxos.update(dict.fromkeys(wanted))
        for utxo_id, *columns in self._db.rows_by_keys(_UTXOS, wanted):
            self._utxos[ID(bytes(utxo_id))] = rows.utxo_of(*columns)

    def load_shared(self, peer_chain: ID, utxo_ids: Iterable[ID]) -> None:
        """Read outputs that a chain has exported to this one, hundreds per statement.

        An output that is not there is read again at its next use, because the other chain may export it meanwhile.
        """
        wanted = [utxo_id for utxo_id in set(utxo_ids) if (peer_chain, utxo_id) not in self._shared]
        found = SharedRows(self._db).get(P_CHAIN_ID, peer_chain, wanted)
        self._shared.update(((peer_chain, utxo_id), utxo) for utxo_id, utxo in found.items())

    def get(self, utxo_id: ID) -> UTXO | None:
        """Return an unspent output of this chain."""
        if utxo_id not in self._utxos:
            self.load([utxo_id])
        return self._utxos[utxo_id]

    def shared(self, peer_chain: ID, utxo_id: ID) -> UTXO | None:
        """Return an output that another chain has exported to this one and that is unspent."""
        if (peer_chain, utxo_id) not in self._shared:
            self.load_shared(peer_chain, [utxo_id])
        return self._shared.get((peer_chain, utxo_id))

    @override
    @staticmethod
    def write(commit: Commit) -> None:
        """Write the changes of outputs."""
        db, height, changes = commit.db, commit.moment.height, commit.diff.utxos.changes()
        _delete_utxos(db, changes.consumed)
        _insert_utxos(db, height, changes.produced)
        SharedRows(db).apply(P_CHAIN_ID, _requests(changes), height)
        db.insert(models.RewardUTXO, _REWARD, _reward_rows(height, changes.rewards))


def _insert_utxos(db: Database, height: int, produced: Iterable[UTXO]) -> None:
    utxos = list(produced)
    db.insert(models.UTXO, _UTXO, (_utxo_row(height, utxo) for utxo in utxos))
    db.insert(models.UTXOOwner, ("address", "utxo"), _owner_rows(utxos))


def _delete_utxos(db: Database, consumed: Iterable[ID]) -> None:
    keys = list(consumed)
    owners = [
        (address, utxo_id)
        for utxo_id, output in db.rows_by_keys(_SPENT, keys)
        for address in rows.addresses_of(output)
    ]
    db.delete(models.UTXOOwner, ("address", "utxo"), owners)
    db.delete(models.UTXO, ("utxo_id",), ((key,) for key in keys))


def _utxo_row(height: int, utxo: UTXO) -> Row:
    locked = utxo.output.locktime if isinstance(utxo.output, LockOut) else 0
    return (utxo.utxo_id, *_output_row(height, utxo), locked)


def _output_row(height: int, utxo: UTXO) -> Row:
    inner = inner_output(utxo.output)
    return (
        utxo.tx_id, utxo.output_index, utxo.asset_id, inner.amount, inner.owners.locktime,
        inner.owners.threshold, height, rows.output_bytes(utxo.output),
    )  # fmt: skip


def _owner_rows(produced: Iterable[UTXO]) -> Iterator[Row]:
    for utxo in produced:
        for address in inner_output(utxo.output).owners.addresses:
            yield (address, utxo.utxo_id)


def _requests(changes: UTXOChanges) -> Iterator[AtomicRequests]:
    """Yield the changes of the memory that is shared with each other chain."""
    for peer in sorted({chain for chain, _ in (*changes.imported, *changes.exported)}):
        imports = [
            (utxo_id, tx_id)
            for (chain, utxo_id), tx_id in zip(changes.imported, changes.importers, strict=True)
            if chain == peer
        ]
        yield AtomicRequests(
            peer,
            remove=tuple(utxo_id for utxo_id, _ in imports),
            put=tuple(utxo for chain, utxo in changes.exported if chain == peer),
            importers=tuple(tx_id for _, tx_id in imports),
        )


def _reward_rows(height: int, rewards: Iterable[tuple[ID, UTXO]]) -> Iterator[Row]:
    for tx_id, utxo in rewards:
        yield (
            utxo.utxo_id, tx_id, utxo.output_index, utxo.asset_id,
            inner_output(utxo.output).amount, height, rows.output_bytes(utxo.output),
        )  # fmt: skip
