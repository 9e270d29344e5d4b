"""Base classes of transactions, and the parts that only the P-Chain has: stakeable locks, authorizations, BLS keys.

The parts that all chains have in common are in `utxo.components`. Layout only (pchain.md 2.3).
"""

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Annotated

from primitives.codec import INTERFACE, U32, U64, Blob, FixedLayout
from primitives.hashing import sha256
from primitives.ids import ID, NodeID
from utxo.components import (
    Credential,
    Input,
    TransferableInput,
    TransferableOutput,
    TransferInput,
    TransferOutput,
    UtxoContent,
    UtxoOutput,
)


class Auth:
    """Interface: the authorization by a subnet's owner."""


class Signer:
    """Interface: the BLS key of a validator, or its absence."""


@dataclass(frozen=True, slots=True)
class LockOut(UtxoOutput):
    """An output that can only be staked until the locktime."""

    locktime: U64
    output: Annotated[UtxoOutput, INTERFACE]


@dataclass(frozen=True, slots=True)
class LockIn(Input):
    """Spends a `LockOut` that is still locked."""

    locktime: U64
    input: Annotated[Input, INTERFACE]


@dataclass(frozen=True, slots=True)
class AuthInput(Auth):
    """The indices of the subnet's control keys that have signed."""

    signature_indices: tuple[U32, ...]


@dataclass(frozen=True, slots=True)
class EmptySigner(Signer):
    """A validator without a BLS key."""


@dataclass(frozen=True, slots=True)
class ProofOfPossession(Signer):
    """A BLS public key, and a proof of possession of its secret key."""

    public_key: Annotated[bytes, FixedLayout(48)]
    proof_of_possession: Annotated[bytes, FixedLayout(96)]


@dataclass(frozen=True, slots=True)
class StakingPeriod:
    """A staking period: Unix seconds and a weight in the smallest unit of the staked asset."""

    node_id: NodeID
    start: U64
    end: U64
    weight: U64


@dataclass(frozen=True, slots=True)
class SubnetValidator(StakingPeriod):
    """A staking period on a subnet."""

    subnet_id: ID


def inner_output(output: UtxoContent) -> TransferOutput:
    """Return the transfer output itself, or the one inside a lock."""
    inner = output.output if isinstance(output, LockOut) else output
    assert isinstance(inner, TransferOutput)
    return inner


def inner_input(spent: Input) -> TransferInput:
    """Return the transfer input itself, or the one inside a lock."""
    inner = spent.input if isinstance(spent, LockIn) else spent
    assert isinstance(inner, TransferInput)
    return inner


class UnsignedTx:
    """Interface: the part of a transaction that is signed."""


@dataclass(frozen=True, slots=True)
class SpendingTx(UnsignedTx):
    """The fields at the start of every transaction that users sign (pchain.md 3, base fields)."""

    network_id: U32
    blockchain_id: ID
    outputs: tuple[TransferableOutput, ...]
    inputs: tuple[TransferableInput, ...]
    memo: Blob


@dataclass(frozen=True, slots=True)
class BaseTx(SpendingTx):
    """Moves funds on the P-Chain (type 34)."""


@dataclass(frozen=True, slots=True)
class SignedBody:
    """The layout of a signed transaction."""

    unsigned: Annotated[UnsignedTx, INTERFACE]
    credentials: tuple[Annotated[Credential, INTERFACE], ...]


@dataclass(frozen=True)
class Tx:
    """A signed transaction with the bytes that it was parsed from or built to.

    Created by `txs.codec` only: `raw` starts with the codec version; its first `unsigned_size` bytes
    (including the version) are the signed ones.
    """

    unsigned: UnsignedTx
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


class TxStatus(IntEnum):
    """The status of a transaction; `label` is the result of platform.getTxStatus."""

    UNKNOWN = 0
    COMMITTED = 4
    ABORTED = 5
    PROCESSING = 6
    DROPPED = 8

    @property
    def label(self) -> str:
        """The specification's name of the status."""
        return self.name.capitalize()
