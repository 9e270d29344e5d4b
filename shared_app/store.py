"""Reads shared outputs for the rules, and writes the changes of accepted blocks."""

from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Final

from chaindb.database import Database, Row
from chaindb.locks import Lock
from chainvm.shared_memory import AtomicRequests, SharedMemoryConflict, SharedMemoryReason
from primitives.codec import INTERFACE, Codec
from primitives.ids import ID
from shared_app import models
from utxo.components import UTXO, OutputOwners, TransferOutput, UtxoContent

_CODEC: Final = Codec({7: TransferOutput, 11: OutputOwners})
"""The types of exported outputs, whose numbers are the same on all chains."""
_OUTPUT = Annotated[UtxoContent, INTERFACE]

_SHARED = (
    "utxo_id", "tx_id", "output_index", "asset_id", "amount", "locktime", "threshold", "height", "output",
    "source_chain", "destination_chain",
)  # fmt: skip
_OWNER = ("destination_chain", "source_chain", "address", "utxo")
_EARLY = ("utxo_id", "source_chain", "destination_chain", "height")
_EXPORT = ("tx_id", "output_index", "asset_id", "amount", "exported_height")
_IMPORT = ("import_tx", "imported_height")
_TRANSFER = ("utxo_id", "source_chain", "destination_chain", *_EXPORT, *_IMPORT)

_UTXOS = """
SELECT utxo_id, tx_id, output_index, asset_id, output FROM platform_app_sharedutxo
WHERE destination_chain = %s AND source_chain = %s AND utxo_id IN ({keys})
"""
_EARLY_IMPORTS = """
SELECT utxo_id FROM shared_app_earlyimport
WHERE destination_chain = %s AND source_chain = %s AND utxo_id IN ({keys})
"""


class SharedRows:
    """The shared memory in the rows of a database; a `chainvm.shared_memory.SharedMemory`."""

    __slots__ = ("_db",)

    def __init__(self, db: Database) -> None:
        self._db = db

    def get(self, destination: ID, source: ID, utxo_ids: Collection[ID]) -> Mapping[ID, UTXO]:
        """Return those of the outputs that the destination can import, hundreds per statement."""
        rows = self._db.rows_by_keys(_UTXOS, sorted(utxo_ids), (destination, source))
        return {ID(bytes(key)): _utxo(*columns) for key, *columns in rows}

    def apply(self, chain_id: ID, requests: Iterable[AtomicRequests], height: int) -> None:
        """Write the changes of an accepted block; the caller holds the chain's lock and the transaction.

        Raises:
            SharedMemoryConflict: An output is added or removed a second time.
        """
        changing = [request for request in requests if request.remove or request.put]
        if not changing:
            return
        self._db.acquire(Lock.SHARED)
        for request in changing:
            importers = request.importers or (None,) * len(request.remove)
            imports = dict(zip(request.remove, importers, strict=True))
            self._remove(chain_id, request.peer, imports, height)
            self._put(chain_id, request.peer, request.put, height)

    def _remove(
        self, chain_id: ID, source: ID, imports: Mapping[ID, ID | None], height: int
    ) -> None:
        """Remove outputs, given with the transactions that import them."""
        present = self.get(chain_id, source, imports.keys())
        missing = [utxo_id for utxo_id in imports if utxo_id not in present]
        for utxo_id in sorted(self._early(chain_id, source, missing)):
            raise SharedMemoryConflict(SharedMemoryReason.DUPLICATE_REMOVE, utxo_id=utxo_id)
        self._db.delete(
            models.SharedOwner,
            _OWNER,
            [
                (chain_id, source, address, utxo_id)
                for utxo_id, utxo in present.items()
                for address in _content(utxo).owners.addresses
            ],
        )
        self._db.delete(models.SharedOutput, ("utxo_id",), ((utxo_id,) for utxo_id in present))
        self._db.insert(
            models.EarlyImport,
            _EARLY,
            ((utxo_id, source, chain_id, height) for utxo_id in missing),
        )
        self._db.update(
            models.ChainTransfer,
            ("utxo_id",),
            _IMPORT,
            [(imports[utxo_id], height, utxo_id) for utxo_id in present],
        )
        nothing = (None,) * len(_EXPORT)
        self._db.upsert(
            models.ChainTransfer,
            _TRANSFER,
            [
                (utxo_id, source, chain_id, *nothing, imports[utxo_id], height)
                for utxo_id in missing
            ],
        )

    def _put(self, chain_id: ID, destination: ID, utxos: Collection[UTXO], height: int) -> None:
        keys = [utxo.utxo_id for utxo in utxos]
        for utxo_id in self.get(destination, chain_id, keys):
            raise SharedMemoryConflict(SharedMemoryReason.DUPLICATE_PUT, utxo_id=utxo_id)
        imported = self._early(destination, chain_id, keys)
        self._db.delete(models.EarlyImport, ("utxo_id",), ((key,) for key in imported))
        new = [utxo for utxo in utxos if utxo.utxo_id not in imported]
        self._db.insert(
            models.SharedOutput,
            _SHARED,
            [
                (
                    utxo.utxo_id, utxo.tx_id, utxo.output_index, utxo.asset_id,
                    _content(utxo).amount, _content(utxo).owners.locktime,
                    _content(utxo).owners.threshold, height, _CODEC.pack(utxo.output, _OUTPUT),
                    chain_id, destination,
                )
                for utxo in new
            ],
        )  # fmt: skip
        self._db.insert(
            models.SharedOwner,
            _OWNER,
            [
                (destination, chain_id, address, utxo.utxo_id)
                for utxo in new
                for address in _content(utxo).owners.addresses
            ],
        )
        self._db.update(
            models.ChainTransfer,
            ("utxo_id",),
            _EXPORT,
            [(*_export(utxo, height), utxo.utxo_id) for utxo in utxos if utxo.utxo_id in imported],
        )
        nothing = (None,) * len(_IMPORT)
        self._db.upsert(
            models.ChainTransfer,
            _TRANSFER,
            [
                (utxo.utxo_id, chain_id, destination, *_export(utxo, height), *nothing)
                for utxo in new
            ],
        )

    def _early(self, destination: ID, source: ID, utxo_ids: Collection[ID]) -> set[ID]:
        keys = sorted(utxo_ids)
        rows = self._db.rows_by_keys(_EARLY_IMPORTS, keys, (destination, source))
        return {ID(bytes(utxo_id)) for (utxo_id,) in rows}


def _export(utxo: UTXO, height: int) -> Row:
    """Return the columns of an export."""
    return utxo.tx_id, utxo.output_index, utxo.asset_id, _content(utxo).amount, height


def _content(utxo: UTXO) -> TransferOutput:
    """Return the amount and the owners: the rules of every chain refuse to export anything else."""
    assert isinstance(utxo.output, TransferOutput)
    return utxo.output


def _utxo(tx_id: bytes, index: int, asset_id: bytes, output: bytes) -> UTXO:
    content: UtxoContent = _CODEC.read(_OUTPUT, bytes(output), 0)[0]
    return UTXO(ID(bytes(tx_id)), index, ID(bytes(asset_id)), content)
