"""Transactions about subnets, their permissioned validators and blockchains, and transfers between chains."""

from dataclasses import dataclass
from typing import Annotated

from platform_app.txs.base import Auth, SpendingTx, SubnetValidator
from primitives.codec import INTERFACE, U8, U32, U64, Blob, Text
from primitives.ids import ID, NodeID
from utxo.components import Owner, TransferableInput, TransferableOutput


@dataclass(frozen=True, slots=True)
class CreateSubnetTx(SpendingTx):
    """Creates a subnet whose ID is the transaction's (type 16)."""

    owner: Annotated[Owner, INTERFACE]


@dataclass(frozen=True, slots=True)
class AddSubnetValidatorTx(SpendingTx):
    """Adds a validator to a permissioned subnet (type 13)."""

    validator: SubnetValidator
    subnet_authorization: Annotated[Auth, INTERFACE]


@dataclass(frozen=True, slots=True)
class RemoveSubnetValidatorTx(SpendingTx):
    """Removes a validator from a permissioned subnet immediately (type 23)."""

    node_id: NodeID
    subnet_id: ID
    subnet_authorization: Annotated[Auth, INTERFACE]


@dataclass(frozen=True, slots=True)
class TransferSubnetOwnershipTx(SpendingTx):
    """Changes the control keys of a subnet (type 33)."""

    subnet_id: ID
    subnet_authorization: Annotated[Auth, INTERFACE]
    new_owner: Annotated[Owner, INTERFACE]


@dataclass(frozen=True, slots=True)
class TransformSubnetTx(SpendingTx):
    """Would make a subnet permissionless (type 24); parsed and shown, but rejected."""

    subnet_id: ID
    asset_id: ID
    initial_supply: U64
    maximum_supply: U64
    min_consumption_rate: U64
    max_consumption_rate: U64
    min_validator_stake: U64
    max_validator_stake: U64
    min_stake_duration: U32
    max_stake_duration: U32
    min_delegation_fee: U32
    min_delegator_stake: U64
    max_validator_weight_factor: U8
    uptime_requirement: U32
    subnet_authorization: Annotated[Auth, INTERFACE]


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
    """Imports funds that another chain has exported (type 17)."""

    source_chain: ID
    imported_inputs: tuple[TransferableInput, ...]


@dataclass(frozen=True, slots=True)
class ExportTx(SpendingTx):
    """Exports funds so that another chain can import them (type 18)."""

    destination_chain: ID
    exported_outputs: tuple[TransferableOutput, ...]
