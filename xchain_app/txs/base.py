"""The layout of transactions: transfers, assets, operations, and moves between chains (xchain.md 4).

Fields are in serialisation order; `codec` has the type IDs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

from primitives import ids
from primitives.codec import INTERFACE, U8, U32, Blob, Text
from primitives.hashing import sha256
from primitives.ids import ID
from utxo.components import Credential, TransferableInput, TransferableOutput, UtxoContent
from xchain_app.txs.extensions import FxOperation


class UnsignedAvmTx:
    """Interface: the part of a transaction that is signed."""

    REFERENCE_NAME: ClassVar[str] = "txs.UnsignedTx"


@dataclass(frozen=True, slots=True)
class AvmBaseTx(UnsignedAvmTx):
    """Moves coins, and the fields at the start of every transaction (type 0)."""

    REFERENCE_NAME: ClassVar[str] = "*txs.BaseTx"

    network_id: U32
    blockchain_id: ID
    outputs: tuple[TransferableOutput, ...]
    inputs: tuple[TransferableInput, ...]
    memo: Blob


@dataclass(frozen=True, slots=True)
class AssetState:
    """The first outputs of an asset under one extension."""

    fx_index: U32
    outputs: tuple[Annotated[UtxoContent, INTERFACE], ...]


@dataclass(frozen=True, slots=True)
class CreateAssetTx(AvmBaseTx):
    """Creates an asset, whose ID is the transaction's (type 1)."""

    REFERENCE_NAME: ClassVar[str] = "*txs.CreateAssetTx"

    name: Text
    symbol: Text
    denomination: U8
    initial_states: tuple[AssetState, ...]


@dataclass(frozen=True, slots=True)
class OutputReference:
    """The output of a transaction, by its index."""

    tx_id: ID
    output_index: U32

    @property
    def utxo_id(self) -> ID:
        """The ID of the UTXO."""
        return ids.utxo_id(self.tx_id, self.output_index)


@dataclass(frozen=True, slots=True)
class AssetOperation:
    """An operation on UTXOs of one asset."""

    asset_id: ID
    input_ids: tuple[OutputReference, ...]
    operation: Annotated[FxOperation, INTERFACE]


@dataclass(frozen=True, slots=True)
class OperationTx(AvmBaseTx):
    """Executes operations of the extensions (type 2)."""

    REFERENCE_NAME: ClassVar[str] = "*txs.OperationTx"

    operations: tuple[AssetOperation, ...]


@dataclass(frozen=True, slots=True)
class AvmImportTx(AvmBaseTx):
    """Moves outputs that another chain has exported to this chain (type 3)."""

    REFERENCE_NAME: ClassVar[str] = "*txs.ImportTx"

    source_chain: ID
    imported_inputs: tuple[TransferableInput, ...]


@dataclass(frozen=True, slots=True)
class AvmExportTx(AvmBaseTx):
    """Moves coins to another chain, which can import them (type 4)."""

    REFERENCE_NAME: ClassVar[str] = "*txs.ExportTx"

    destination_chain: ID
    exported_outputs: tuple[TransferableOutput, ...]


@dataclass(frozen=True, slots=True)
class SignedAvmBody:
    """The layout of a signed transaction."""

    unsigned: Annotated[UnsignedAvmTx, INTERFACE]
    credentials: tuple[Annotated[Credential, INTERFACE], ...]


@dataclass(frozen=True)
class AvmTx:
    """A signed transaction with the bytes that it was parsed from or built to.

    Created by `txs.codec` only: `raw` starts with the codec version; its first `unsigned_size` bytes
    (including the version) are the signed ones.
    """

    unsigned: AvmBaseTx
    credentials: tuple[Credential, ...]
    raw: bytes
    unsigned_size: int

    @cached_property
    def tx_id(self) -> ID:
        """The sha256 hash of the signed bytes."""
        return ID(sha256(self.raw))

    @cached_property
    def digest(self) -> bytes:
        """The sha256 hash of the unsigned bytes: the 32 bytes that are signed."""
        return sha256(self.raw[: self.unsigned_size])


def imported_inputs(unsigned: AvmBaseTx) -> tuple[TransferableInput, ...]:
    """Return the inputs that another chain has exported; empty for all kinds but imports."""
    return unsigned.imported_inputs if isinstance(unsigned, AvmImportTx) else ()


def operations_of(unsigned: AvmBaseTx) -> tuple[AssetOperation, ...]:
    """Return the operations of a transaction; empty for all kinds but OperationTx."""
    return unsigned.operations if isinstance(unsigned, OperationTx) else ()


def own_utxo_ids(unsigned: AvmBaseTx) -> Iterator[ID]:
    """Yield the IDs of the UTXOs of this chain that a transaction consumes, in the order of their deletion."""
    for spent in unsigned.inputs:
        yield spent.utxo_id
    for operation in operations_of(unsigned):
        for reference in operation.input_ids:
            yield reference.utxo_id


def conflict_keys(unsigned: AvmBaseTx) -> Iterator[ID]:
    """Yield the IDs of all UTXOs that a transaction consumes, imported ones included.

    Two transactions with a common ID cannot both be accepted.
    """
    yield from own_utxo_ids(unsigned)
    for spent in imported_inputs(unsigned):
        yield spent.utxo_id


def credentials_needed(unsigned: AvmBaseTx) -> int:
    """Return the number of credentials: one for each base input, imported input and operation."""
    return len(unsigned.inputs) + len(imported_inputs(unsigned)) + len(operations_of(unsigned))
