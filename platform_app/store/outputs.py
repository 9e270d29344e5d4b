"""Writing of outputs: unspent outputs and their owners, outputs shared with other chains, rewards."""

from collections.abc import Iterable, Iterator

from chaindb.database import Database, Row
from platform_app import models
from platform_app.state.chain import DiffChanges
from platform_app.store import rows
from platform_app.txs.components import LockOut, inner_output
from primitives.ids import ID, P_CHAIN_ID
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
_SHARED = ("utxo_id", *_OUTPUT, "source_chain", "destination_chain")
_SHARED_OWNER = ("destination_chain", "source_chain", "address", "utxo")
_REWARD = ("utxo_id", "tx_id", "output_index", "asset_id", "amount", "height", "output")

_SPENT = "SELECT utxo_id, output FROM platform_app_utxo WHERE utxo_id IN ({keys})"
_IMPORTED = """
SELECT utxo_id, output, source_chain FROM platform_app_sharedutxo WHERE utxo_id IN ({keys})
"""


def write_outputs(db: Database, height: int, changes: DiffChanges) -> None:
    """Write the changes of outputs by a block at `height`."""
    _delete_utxos(db, changes.consumed)
    _insert_utxos(db, height, changes.produced)
    _delete_imported(db, [utxo_id for _, utxo_id in changes.imported])
    for destination, utxo in changes.exported:
        _share(db, height, utxo, source=P_CHAIN_ID, destination=destination)
    db.insert(models.RewardUTXO, _REWARD, _reward_rows(height, changes.reward_utxos))


def receive(db: Database, source_chain: ID, utxos: Iterable[UTXO], height: int) -> None:
    """Write outputs that another chain has exported to this one; `height` is that chain's."""
    for utxo in utxos:
        _share(db, height, utxo, source=source_chain, destination=P_CHAIN_ID)


def _insert_utxos(db: Database, height: int, produced: Iterable[UTXO]) -> None:
    found = list(produced)
    db.insert(models.UTXO, _UTXO, (_utxo_row(height, utxo) for utxo in found))
    db.insert(models.UTXOOwner, ("address", "utxo"), _owner_rows(found))


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


def _share(db: Database, height: int, utxo: UTXO, *, source: ID, destination: ID) -> None:
    utxo_id = utxo.utxo_id
    row = (utxo_id, *_output_row(height, utxo), source, destination)
    db.insert(models.SharedUTXO, _SHARED, [row])
    owners = inner_output(utxo.output).owners.addresses
    owner_rows = ((destination, source, address, utxo_id) for address in owners)
    db.insert(models.SharedUTXOOwner, _SHARED_OWNER, owner_rows)


def _delete_imported(db: Database, keys: list[ID]) -> None:
    owners = [
        (P_CHAIN_ID, source, address, utxo_id)
        for utxo_id, output, source in db.rows_by_keys(_IMPORTED, keys)
        for address in rows.addresses_of(output)
    ]
    db.delete(models.SharedUTXOOwner, _SHARED_OWNER, owners)
    db.delete(models.SharedUTXO, ("utxo_id",), ((key,) for key in keys))


def _reward_rows(height: int, rewards: Iterable[tuple[ID, UTXO]]) -> Iterator[Row]:
    for tx_id, utxo in rewards:
        yield (
            utxo.utxo_id, tx_id, utxo.output_index, utxo.asset_id,
            inner_output(utxo.output).amount, height, rows.output_bytes(utxo.output),
        )  # fmt: skip
