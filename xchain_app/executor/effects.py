"""The effects of a transaction: outputs that it consumes and produces, and requests to other chains (xchain.md 9)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain as chained

from chainvm.shared_memory import AtomicRequests
from primitives.ids import ID
from utxo.components import UTXO, utxos_of
from xchain_app.executor.operations import created_by
from xchain_app.state.chain import AvmDiff
from xchain_app.txs.base import (
    AvmExportTx,
    AvmImportTx,
    AvmTx,
    CreateAssetTx,
    OperationTx,
    own_utxo_ids,
)


@dataclass(frozen=True, slots=True)
class TxEffects:
    """The changes of an accepted transaction."""

    consumed: tuple[ID, ...]
    """The UTXOs of this chain that it spends, in the order of their deletion."""
    produced: tuple[UTXO, ...]
    """The outputs that it creates on this chain, in the order of their indices."""
    requests: AtomicRequests | None = field(default=None)
    """Its changes of the memory shared with the chain from which it imports or to which it exports."""

    @property
    def imported(self) -> tuple[ID, ...]:
        """The outputs of another chain that it imports."""
        return () if self.requests is None else self.requests.remove


def effects_of(tx: AvmTx) -> TxEffects:
    """Return the effects of a transaction, which do not depend on the state."""
    return TxEffects(tuple(own_utxo_ids(tx.unsigned)), tuple(_produced(tx)), _requests(tx))


def execute(tx: AvmTx, diff: AvmDiff) -> TxEffects:
    """Execute a verified transaction on a diff; return its effects."""
    effects = effects_of(tx)
    diff.add(tx, effects.consumed, effects.produced)
    return effects


def merge_requests(requests: Iterable[AtomicRequests]) -> tuple[AtomicRequests, ...]:
    """Return the requests of several transactions as one for each peer, in order."""
    merged: dict[ID, AtomicRequests] = {}
    for request in requests:
        known = merged.get(request.peer, AtomicRequests(request.peer))
        merged[request.peer] = known.followed_by(request)
    return tuple(merged.values())


def _produced(tx: AvmTx) -> Iterator[UTXO]:
    unsigned, tx_id = tx.unsigned, tx.tx_id
    yield from utxos_of(tx_id, 0, unsigned.outputs)
    first = len(unsigned.outputs)
    if isinstance(unsigned, CreateAssetTx):
        contents = chained.from_iterable(state.outputs for state in unsigned.initial_states)
        for index, content in enumerate(contents, first):
            yield UTXO(tx_id, index, tx_id, content)
    elif isinstance(unsigned, OperationTx):
        created = (
            (operation.asset_id, content)
            for operation in unsigned.operations
            for content in created_by(operation.operation)
        )
        for index, (asset_id, content) in enumerate(created, first):
            yield UTXO(tx_id, index, asset_id, content)


def _requests(tx: AvmTx) -> AtomicRequests | None:
    unsigned = tx.unsigned
    if isinstance(unsigned, AvmImportTx):
        imported = tuple(spent.utxo_id for spent in unsigned.imported_inputs)
        importers = (tx.tx_id,) * len(imported)
        return AtomicRequests(unsigned.source_chain, remove=imported, importers=importers)
    if isinstance(unsigned, AvmExportTx):
        exported = utxos_of(tx.tx_id, len(unsigned.outputs), unsigned.exported_outputs)
        return AtomicRequests(unsigned.destination_chain, put=tuple(exported))
    return None
