"""Parts of transactions that only the P-Chain has: stakeable locks, authorizations, BLS keys, staking periods.

The parts that all chains have in common are in `utxo.components`. Layout only (pchain.md 2.3).
"""

from dataclasses import dataclass
from typing import Annotated

from primitives.codec import INTERFACE, U32, U64, FixedLayout
from primitives.ids import ID, NodeID
from utxo.components import Input, TransferInput, TransferOutput, UtxoContent, UtxoOutput


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
