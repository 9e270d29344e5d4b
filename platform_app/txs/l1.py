"""Transactions about L1 validators, and those of the Helicon upgrade, as values.

`executor.l1` executes those about L1 validators, `executor.auto_renewal` those of Helicon, which are rejected before
that upgrade. Field names follow the JSON names of pchain.md 3.
"""

from dataclasses import dataclass
from typing import Annotated

from platform_app.txs.base import Auth, ProofOfPossession, Signer, SpendingTx, UnsignedTx
from primitives.codec import INTERFACE, U32, U64, Blob, FixedLayout
from primitives.ids import ID, ShortID
from utxo.components import Owner, TransferableOutput


@dataclass(frozen=True, slots=True)
class PChainOwner:
    """Owners inside the data of an L1: no type ID, no locktime."""

    threshold: U32
    addresses: tuple[ShortID, ...]


@dataclass(frozen=True, slots=True)
class ConvertSubnetToL1Validator:
    """One of the initial validators of an L1. The encoding does not limit the node ID's length."""

    node_id: Blob
    weight: U64
    balance: U64
    signer: ProofOfPossession
    remaining_balance_owner: PChainOwner
    deactivation_owner: PChainOwner


@dataclass(frozen=True, slots=True)
class ConvertSubnetToL1Tx(SpendingTx):
    """Turns a permissioned subnet into an L1, managed at an address of a chain (type 35)."""

    subnet_id: ID
    chain_id: ID
    address: Blob
    validators: tuple[ConvertSubnetToL1Validator, ...]
    subnet_authorization: Annotated[Auth, INTERFACE]


@dataclass(frozen=True, slots=True)
class RegisterL1ValidatorTx(SpendingTx):
    """Adds the validator in a warp message (type 36)."""

    balance: U64
    proof_of_possession: Annotated[bytes, FixedLayout(96)]
    message: Blob


@dataclass(frozen=True, slots=True)
class SetL1ValidatorWeightTx(SpendingTx):
    """Sets the weight in a warp message (type 37)."""

    message: Blob


@dataclass(frozen=True, slots=True)
class IncreaseL1ValidatorBalanceTx(SpendingTx):
    """Adds to the balance from which an L1 validator pays (type 38)."""

    validation_id: ID
    balance: U64


@dataclass(frozen=True, slots=True)
class DisableL1ValidatorTx(SpendingTx):
    """Deactivates an L1 validator and returns its balance (type 39)."""

    validation_id: ID
    disable_authorization: Annotated[Auth, INTERFACE]


@dataclass(frozen=True, slots=True)
class AddAutoRenewedValidatorTx(SpendingTx):
    """Adds a validator whose period, in seconds, is renewed at its end (type 40)."""

    node_id: Blob
    signer: Annotated[Signer, INTERFACE]
    stake: tuple[TransferableOutput, ...]
    validation_rewards_owner: Annotated[Owner, INTERFACE]
    delegation_rewards_owner: Annotated[Owner, INTERFACE]
    validator_authority: Annotated[Owner, INTERFACE]
    delegation_shares: U32
    auto_compound_reward_shares: U32
    period: U64


@dataclass(frozen=True, slots=True)
class SetAutoRenewedValidatorConfigTx(SpendingTx):
    """Changes the next period of such a validator and the part of its rewards that is restaked (type 41)."""

    tx_id: ID
    auth: Annotated[Auth, INTERFACE]
    auto_compound_reward_shares: U32
    period: U64


@dataclass(frozen=True, slots=True)
class RewardAutoRenewedValidatorTx(UnsignedTx):
    """Proposes the reward of such a validator at the end of a period (type 42)."""

    tx_id: ID
    timestamp: U64
