"""Transactions that create blockchains and that move funds from and to other chains."""

from dataclasses import dataclass
from typing import Annotated

from platform_app.txs.base import SpendingTx
from platform_app.txs.components import Auth, TransferableInput, TransferableOutput
from primitives.codec import INTERFACE, Blob, Text
from primitives.ids import ID


@dataclass(frozen=True, slots=True)
class CreateChainTx(SpendingTx):
    """Creates a blockchain whose ID is the transaction's (type 15)."""

    subnet_id: ID
    chain_name: Text
    vm_id: ID
    fx_ids: tuple[ID, ...]
    genesis_data: Blob
    subnet_authorization: Annotated[Auth, INTERFACE]


@dataclass(frozen=True, slots=True)
class ImportTx(SpendingTx):
    """Takes funds that another chain has exported (type 17)."""

    source_chain: ID
    imported_inputs: tuple[TransferableInput, ...]


@dataclass(frozen=True, slots=True)
class ExportTx(SpendingTx):
    """Puts funds where another chain can import them (type 18)."""

    destination_chain: ID
    exported_outputs: tuple[TransferableOutput, ...]
