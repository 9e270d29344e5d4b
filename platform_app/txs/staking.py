"""Transactions that add and remove stakers of the Primary Network and of permissionless subnets."""

from dataclasses import dataclass
from typing import Annotated

from platform_app.txs.base import Signer, SpendingTx, StakingPeriod, UnsignedTx
from primitives.codec import INTERFACE, U32, U64
from primitives.ids import ID
from utxo.components import Owner, TransferableOutput


@dataclass(frozen=True, slots=True)
class AddValidatorTx(SpendingTx):
    """Adds a validator to the Primary Network (type 12). `shares` are millionths."""

    validator: StakingPeriod
    stake: tuple[TransferableOutput, ...]
    rewards_owner: Annotated[Owner, INTERFACE]
    shares: U32


@dataclass(frozen=True, slots=True)
class AddDelegatorTx(SpendingTx):
    """Adds stake to a validator of the Primary Network (type 14)."""

    validator: StakingPeriod
    stake: tuple[TransferableOutput, ...]
    rewards_owner: Annotated[Owner, INTERFACE]


@dataclass(frozen=True, slots=True)
class AddPermissionlessValidatorTx(SpendingTx):
    """Adds a validator to the Primary Network or a permissionless subnet (type 25)."""

    validator: StakingPeriod
    subnet_id: ID
    signer: Annotated[Signer, INTERFACE]
    stake: tuple[TransferableOutput, ...]
    validation_rewards_owner: Annotated[Owner, INTERFACE]
    delegation_rewards_owner: Annotated[Owner, INTERFACE]
    shares: U32


@dataclass(frozen=True, slots=True)
class AddPermissionlessDelegatorTx(SpendingTx):
    """Adds stake to a validator of the Primary Network or a permissionless subnet (type 26)."""

    validator: StakingPeriod
    subnet_id: ID
    stake: tuple[TransferableOutput, ...]
    rewards_owner: Annotated[Owner, INTERFACE]


@dataclass(frozen=True, slots=True)
class AdvanceTimeTx(UnsignedTx):
    """Moved the chain's time before Banff (type 19); parsed only."""

    time: U64


@dataclass(frozen=True, slots=True)
class RewardValidatorTx(UnsignedTx):
    """Proposes to reward the staker that `tx_id` added (type 20); created by block builders."""

    tx_id: ID
