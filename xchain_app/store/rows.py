"""Conversion of transactions and outputs to the columns of rows, and back."""

from typing import Annotated

from primitives.codec import INTERFACE
from primitives.ids import ID
from utxo.components import UTXO, TransferOutput, UtxoContent
from xchain_app.txs.base import AvmExportTx, AvmImportTx, AvmTx
from xchain_app.txs.codec import CODEC
from xchain_app.txs.extensions import NftMintOutput, NftTransferOutput, owners_of
from xchain_app.txs.syntax import flow_of

_OUTPUT = Annotated[UtxoContent, INTERFACE]

OutputColumns = tuple[int, int | None, int | None, bytes | None, int, int]
"""Kind, amount, group, payload, locktime, threshold."""


def output_bytes(output: UtxoContent) -> bytes:
    """Return an output as serialised in transactions, with its type ID."""
    return CODEC.pack(output, _OUTPUT)


def output_of(data: bytes) -> UtxoContent:
    """Return the output stored in a column."""
    output: UtxoContent = CODEC.read(_OUTPUT, bytes(data), 0)[0]
    return output


def utxo_of(tx_id: bytes, index: int, asset_id: bytes, output: bytes) -> UTXO:
    """Return the UTXO of a row."""
    return UTXO(ID(bytes(tx_id)), index, ID(bytes(asset_id)), output_of(output))


def columns_of(output: UtxoContent) -> OutputColumns:
    """Return the columns that describe an output."""
    owners = owners_of(output)
    amount = output.amount if isinstance(output, TransferOutput) else None
    group = output.group_id if isinstance(output, NftMintOutput | NftTransferOutput) else None
    payload = output.payload if isinstance(output, NftTransferOutput) else None
    return (
        CODEC.type_id(type(output)), amount, group, payload, owners.locktime, owners.threshold,
    )  # fmt: skip


def kind_of(tx: AvmTx) -> int:
    """Return the type ID of a transaction."""
    return CODEC.type_id(type(tx.unsigned))


def peer_chain_of(tx: AvmTx) -> ID | None:
    """Return the chain from which a transaction imports or to which it exports."""
    unsigned = tx.unsigned
    if isinstance(unsigned, AvmImportTx):
        return unsigned.source_chain
    return unsigned.destination_chain if isinstance(unsigned, AvmExportTx) else None


def burned(tx: AvmTx, asset_id: ID) -> int:
    """Return the amount of an asset that a transaction spends but neither produces nor exports."""
    flow = flow_of(tx.unsigned)
    return max(0, flow.consumed.get(asset_id, 0) - flow.produced.get(asset_id, 0))
