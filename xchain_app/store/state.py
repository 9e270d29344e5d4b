"""The rows as rules see them: the `AvmState` of the last accepted block.

Each single read costs a statement. A caller that knows the transactions of a block can read their objects together
(`prefetch`). Every value is cached, so a state is valid until the next block.
"""

from collections import defaultdict
from collections.abc import Iterable

from chaindb.database import Database
from primitives.ids import ID
from shared_app.store import SharedRows
from utxo.components import UTXO
from xchain_app.store import blocks, rows
from xchain_app.store.blocks import StoredXChain, XTip
from xchain_app.txs.base import (
    AvmBaseTx,
    AvmExportTx,
    AvmImportTx,
    AvmTx,
    OperationTx,
    own_utxo_ids,
)
from xchain_app.txs.codec import parse_stored

_UTXOS = """
SELECT utxo_id, tx_id, output_index, asset_id, output FROM xchain_app_xoutput
WHERE spent_height IS NULL AND utxo_id IN ({keys})
"""
_TXS = "SELECT tx_id, raw FROM xchain_app_xtransaction WHERE tx_id IN ({keys})"


class NoXChain(Exception):
    """The database holds no X-Chain yet; the first start creates it."""

    def __init__(self) -> None:
        super().__init__("there is no X-Chain yet: run init_node to create it")


class XDatabaseState:
    """The state after the last accepted block. It does not see later blocks.

    Args:
        db: The chain's database.
        place: The chain and its tip, if the caller knows them; otherwise they are read.

    Raises:
        NoXChain: The database holds no X-Chain.
    """

    def __init__(self, db: Database, place: tuple[StoredXChain, XTip] | None = None) -> None:
        found = place or blocks.read(db)
        if found is None:
            raise NoXChain
        self.place = found
        """The chain and its tip."""
        self._db = db
        self._utxos: dict[ID, UTXO | None] = {}
        self._txs: dict[ID, AvmTx | None] = {}
        self._shared: dict[tuple[ID, ID], UTXO] = {}

    @property
    def chain(self) -> StoredXChain:
        """The chain of this state."""
        return self.place[0]

    @property
    def tip(self) -> XTip:
        """The block that this is the state of."""
        return self.place[1]

    def utxo(self, utxo_id: ID) -> UTXO | None:
        """Return an unspent output of this chain."""
        if utxo_id not in self._utxos:
            self._load_utxos([utxo_id])
        return self._utxos[utxo_id]

    def tx(self, tx_id: ID) -> AvmTx | None:
        """Return an accepted transaction."""
        if tx_id not in self._txs:
            self._load_txs([tx_id])
        return self._txs[tx_id]

    def shared(self, source_chain: ID, utxo_id: ID) -> UTXO | None:
        """Return an output that another chain has exported to this one and that no accepted block imports.

        One that is not there is read again at its next use, because the other chain may export it meanwhile.
        """
        if (source_chain, utxo_id) not in self._shared:
            self._load_shared(source_chain, [utxo_id])
        return self._shared.get((source_chain, utxo_id))

    def timestamp(self) -> int:
        """Return the chain's time in Unix seconds."""
        return self.tip.timestamp

    def prefetch(self, txs: Iterable[AvmTx]) -> None:
        """Read the objects that rules need for transactions, with a few statements for all of them."""
        utxo_ids: set[ID] = set()
        tx_ids: set[ID] = set()
        imported: defaultdict[ID, set[ID]] = defaultdict(set)
        for tx in txs:
            utxo_ids.update(own_utxo_ids(tx.unsigned))
            tx_ids.update(_assets_of(tx.unsigned))
            if isinstance(tx.unsigned, AvmImportTx):
                imported[tx.unsigned.source_chain].update(
                    spent.utxo_id for spent in tx.unsigned.imported_inputs
                )
        self._load_utxos(utxo_id for utxo_id in utxo_ids if utxo_id not in self._utxos)
        self._load_txs(tx_id for tx_id in tx_ids if tx_id not in self._txs)
        for source_chain, wanted in imported.items():
            self._load_shared(source_chain, wanted)

    def _load_utxos(self, utxo_ids: Iterable[ID]) -> None:
        wanted = list(utxo_ids)
        self._utxos.update(dict.fromkeys(wanted))
        for utxo_id, *columns in self._db.rows_by_keys(_UTXOS, wanted):
            self._utxos[ID(bytes(utxo_id))] = rows.utxo_of(*columns)

    def _load_txs(self, tx_ids: Iterable[ID]) -> None:
        wanted = list(tx_ids)
        self._txs.update(dict.fromkeys(wanted))
        for tx_id, raw in self._db.rows_by_keys(_TXS, wanted):
            self._txs[ID(bytes(tx_id))] = parse_stored(bytes(raw))

    def _load_shared(self, source_chain: ID, utxo_ids: Iterable[ID]) -> None:
        wanted = [utxo_id for utxo_id in utxo_ids if (source_chain, utxo_id) not in self._shared]
        found = SharedRows(self._db).get(self.chain.chain_id, source_chain, wanted)
        self._shared.update(((source_chain, utxo_id), utxo) for utxo_id, utxo in found.items())


def _assets_of(unsigned: AvmBaseTx) -> Iterable[ID]:
    """Yield the assets that the rules look up for a transaction."""
    for spent in unsigned.inputs:
        yield spent.asset_id
    for output in unsigned.outputs:
        yield output.asset_id
    if isinstance(unsigned, OperationTx):
        for operation in unsigned.operations:
            yield operation.asset_id
    elif isinstance(unsigned, AvmImportTx):
        for spent in unsigned.imported_inputs:
            yield spent.asset_id
    elif isinstance(unsigned, AvmExportTx):
        for output in unsigned.exported_outputs:
            yield output.asset_id
