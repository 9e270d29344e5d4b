"""Writing of the first rows of a chain, and of blocks with all their changes, in one step."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from chaindb.database import Database, Row
from chaindb.fields import row_id
from chainvm.shared_memory import AtomicRequests
from primitives.ids import ID
from shared_app.store import SharedRows
from utxo.components import UTXO
from xchain_app import models
from xchain_app.blocks.block import AvmBlock
from xchain_app.executor.effects import TxEffects, effects_of
from xchain_app.genesis.genesis import AvmGenesis
from xchain_app.store import rows
from xchain_app.txs.base import AvmTx, CreateAssetTx
from xchain_app.txs.extensions import owners_of

_BLOCK = ("height", "block_id", "parent_id", "time", "tx_count", "raw")
_TX = ("id", "tx_id", "height", "index", "kind", "peer_chain", "burned", "memo", "raw")
_ASSET = ("asset_id", "alias", "name", "symbol", "denomination", "extensions", "height")
_OUTPUT = (
    "utxo_id", "tx_id", "output_index", "asset_id", "kind", "amount", "group_id", "payload",
    "locktime", "threshold", "height", "output", "spent_by", "spent_height",
)  # fmt: skip
_OWNER = ("address", "utxo", "height")
_OWNER_KEY = ("address", "utxo")
_ADDRESS_TX = ("address", "asset_id", "position")
_TIP = ("height", "tip", "timestamp")

_CHAIN = """
SELECT chain_id, fee_asset_id, stop_vertex_id, height, tip, timestamp FROM xchain_app_xchain
"""
_SPENT = "SELECT utxo_id, asset_id, output FROM xchain_app_xoutput WHERE utxo_id IN ({keys})"


class StoredXChain(NamedTuple):
    """The chain that a database holds."""

    chain_id: ID
    fee_asset_id: ID
    stop_vertex_id: ID


class XTip(NamedTuple):
    """The last accepted block."""

    height: int
    block_id: ID
    timestamp: int
    """Its time in Unix seconds."""


class AcceptedAvmBlock(NamedTuple):
    """A block to write, with its changes of shared memory."""

    block: AvmBlock
    requests: tuple[AtomicRequests, ...]


def read(db: Database) -> tuple[StoredXChain, XTip] | None:
    """Return the chain and its tip, or None before the genesis."""
    row = db.row(_CHAIN)
    if row is None:
        return None
    chain_id, fee_asset_id, stop_vertex_id, height, tip, timestamp = row
    chain = StoredXChain(ID(bytes(chain_id)), ID(bytes(fee_asset_id)), ID(bytes(stop_vertex_id)))
    return chain, XTip(height, ID(bytes(tip)), timestamp)


def begin(db: Database, genesis: AvmGenesis) -> None:
    """Write the first block of a chain, its assets and their outputs.

    The caller holds the lock and the transaction.
    """
    block = genesis.block
    db.objects(models.XChain).create(
        chain_id=genesis.chain_id,
        fee_asset_id=genesis.fee_asset_id,
        stop_vertex_id=block.parent_id,
        height=block.height,
        tip=block.block_id,
        timestamp=block.time,
    )
    db.insert(models.XBlock, _BLOCK, [_block_row(block)])
    changes = _Changes(block.height, genesis.fee_asset_id)
    for place, asset in enumerate(genesis.assets):
        changes.add(place, asset.tx, alias=asset.alias)
    # as in the reference, the index by address begins with the first block
    changes.address_txs.clear()
    changes.write(db)


def commit(
    db: Database,
    accepted: Sequence[AcceptedAvmBlock],
    place: tuple[StoredXChain, XTip],
) -> tuple[StoredXChain, XTip]:
    """Write accepted blocks, each the child of the one before it, with their changes.

    The caller holds the lock and the transaction.

    Args:
        db: The chain's database.
        accepted: The blocks in order of height; at least one.
        place: The result of `read`, under the lock.

    Returns:
        The new result of `read`.
    """
    chain, _ = place
    db.insert(models.XBlock, _BLOCK, (_block_row(item.block) for item in accepted))
    shared = SharedRows(db)
    for block, requests in accepted:
        changes = _Changes(block.height, chain.fee_asset_id)
        for index, tx in enumerate(block.txs):
            changes.add(index, tx)
        changes.write(db)
        shared.apply(chain.chain_id, requests, block.height)
    last = accepted[-1].block
    tip = XTip(last.height, last.block_id, last.time)
    row = (tip.height, tip.block_id, tip.timestamp, chain.chain_id)
    db.update(models.XChain, ("chain_id",), _TIP, [row])
    return chain, tip


class _Changes:
    """The rows that the transactions of one block add and change."""

    def __init__(self, height: int, fee_asset_id: ID) -> None:
        self.address_txs: dict[tuple[bytes, ID, int], None] = {}
        """Rows of `XAddressTx`, in order."""
        self._height = height
        self._fee_asset_id = fee_asset_id
        self._txs: list[Row] = []
        self._assets: list[Row] = []
        self._produced: dict[ID, UTXO] = {}
        self._spenders: dict[ID, tuple[ID, int]] = {}
        """The transaction that spends an output, and its position."""

    def add(self, index: int, tx: AvmTx, alias: str = "") -> None:
        """Add a transaction at its index in the block."""
        position = row_id(self._height, index)
        self._txs.append(
            (
                position, tx.tx_id, self._height, index, rows.kind_of(tx), rows.peer_chain_of(tx),
                rows.burned(tx, self._fee_asset_id), tx.unsigned.memo, tx.raw,
            )
        )  # fmt: skip
        if isinstance(tx.unsigned, CreateAssetTx):
            self._assets.append(_asset_row(tx.tx_id, tx.unsigned, alias, self._height))
        self._add_outputs(effects_of(tx), tx.tx_id, position)

    def write(self, db: Database) -> None:
        """Write all rows."""
        before = self._spent_before(db)
        for utxo_id, (_, position) in self._spenders.items():
            asset_id, output = before.get(utxo_id) or self._spent_here(utxo_id)
            self._note(asset_id, output, position)
        db.insert(models.XTransaction, _TX, self._txs)
        db.insert(models.XAsset, _ASSET, self._assets)
        self._spend(db, before)
        db.insert(models.XOutput, _OUTPUT, self._output_rows())
        db.insert(
            models.XOwner,
            _OWNER,
            [
                (address, utxo_id, self._height)
                for utxo_id, utxo in self._produced.items()
                if utxo_id not in self._spenders
                for address in owners_of(utxo.output).addresses
            ],
        )
        db.insert(models.XAddressTx, _ADDRESS_TX, self.address_txs)

    def _add_outputs(self, effects: TxEffects, tx_id: ID, position: int) -> None:
        for utxo_id in effects.consumed:
            self._spenders[utxo_id] = (tx_id, position)
        for utxo in effects.produced:
            self._produced[utxo.utxo_id] = utxo
            self._note(utxo.asset_id, rows.output_bytes(utxo.output), position)

    def _note(self, asset_id: ID, output: bytes, position: int) -> None:
        for address in owners_of(rows.output_of(output)).addresses:
            self.address_txs[address, asset_id, position] = None

    def _spent_before(self, db: Database) -> Mapping[ID, tuple[ID, bytes]]:
        """Return the outputs of earlier blocks that the block spends: asset and bytes."""
        keys = [utxo_id for utxo_id in self._spenders if utxo_id not in self._produced]
        return {
            ID(bytes(utxo_id)): (ID(bytes(asset_id)), bytes(output))
            for utxo_id, asset_id, output in db.rows_by_keys(_SPENT, keys)
        }

    def _spent_here(self, utxo_id: ID) -> tuple[ID, bytes]:
        utxo = self._produced[utxo_id]
        return utxo.asset_id, rows.output_bytes(utxo.output)

    def _spend(self, db: Database, before: Mapping[ID, tuple[ID, bytes]]) -> None:
        owners = (
            (address, utxo_id)
            for utxo_id, (_, output) in before.items()
            for address in owners_of(rows.output_of(output)).addresses
        )
        db.delete(models.XOwner, _OWNER_KEY, owners)
        spent = ((self._spenders[utxo_id][0], self._height, utxo_id) for utxo_id in before)
        db.update(models.XOutput, ("utxo_id",), ("spent_by", "spent_height"), spent)

    def _output_rows(self) -> Iterator[Row]:
        for utxo_id, utxo in self._produced.items():
            spender = self._spenders.get(utxo_id)
            spent = (None, None) if spender is None else (spender[0], self._height)
            yield (
                utxo_id, utxo.tx_id, utxo.output_index, utxo.asset_id,
                *rows.columns_of(utxo.output), self._height, rows.output_bytes(utxo.output), *spent,
            )  # fmt: skip


def _block_row(block: AvmBlock) -> Row:
    return (
        block.height, block.block_id, block.parent_id, block.time, len(block.txs), block.raw,
    )  # fmt: skip


def _asset_row(asset_id: ID, asset: CreateAssetTx, alias: str, height: int) -> Row:
    extensions = sum(1 << state.fx_index for state in asset.initial_states)
    return (
        asset_id, alias, asset.name, asset.symbol, asset.denomination, extensions, height,
    )  # fmt: skip
