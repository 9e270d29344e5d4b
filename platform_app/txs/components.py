"""Parts of transactions: owners, inputs, outputs, UTXOs, credentials. Layout only (pchain.md 2.3).

Fields are in serialisation order; `primitives.codec` reads it from the annotations.
The rules for well-formed parts are in `syntax`.
"""

from dataclasses import dataclass
from typing import Annotated

from primitives import ids
from primitives.codec import INTERFACE, U32, U64, FixedLayout
from primitives.ids import ID, NodeID, ShortID


class Owner:
    """Interface: the owners of an output, a reward or a subnet."""


class UtxoOutput:
    """Interface: the content of a UTXO."""


class Input:
    """Interface: the data with which a UTXO is spent."""


class Auth:
    """Interface: the authorization by a subnet's owner."""


class Credential:
    """Interface: signatures for an input or an authorization."""


class Signer:
    """Interface: the BLS key of a validator, or its absence."""


@dataclass(frozen=True, slots=True)
class OutputOwners(Owner):
    """Addresses, the number of them that must sign, and the time before which they cannot (Unix seconds)."""

    locktime: U64
    threshold: U32
    addresses: tuple[ShortID, ...]


@dataclass(frozen=True, slots=True)
class TransferOutput(UtxoOutput):
    """An amount that its owners can spend. The owners' fields are serialised without a type ID."""

    amount: U64
    owners: OutputOwners


@dataclass(frozen=True, slots=True)
class LockOut(UtxoOutput):
    """An output that can only be staked until the locktime."""

    locktime: U64
    output: Annotated[UtxoOutput, INTERFACE]


@dataclass(frozen=True, slots=True)
class TransferInput(Input):
    """Spends a `TransferOutput`; the indices identify the owners that have signed."""

    amount: U64
    signature_indices: tuple[U32, ...]


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
class TransferableOutput:
    """An output and its asset."""

    asset_id: ID
    output: Annotated[UtxoOutput, INTERFACE]


@dataclass(frozen=True, slots=True)
class TransferableInput:
    """A reference to the UTXO that is spent, and its input."""

    tx_id: ID
    output_index: U32
    asset_id: ID
    input: Annotated[Input, INTERFACE]

    @property
    def utxo_id(self) -> ID:
        """The ID of the UTXO that is spent."""
        return ids.utxo_id(self.tx_id, self.output_index)


@dataclass(frozen=True, slots=True)
class UTXO:
    """An unspent output of an accepted transaction."""

    tx_id: ID
    output_index: U32
    asset_id: ID
    output: Annotated[UtxoOutput, INTERFACE]

    @property
    def utxo_id(self) -> ID:
        """Its key in the state."""
        return ids.utxo_id(self.tx_id, self.output_index)


@dataclass(frozen=True, slots=True)
class SignatureCredential(Credential):
    """65-byte recoverable signatures, one for each index of its input."""

    signatures: tuple[Annotated[bytes, FixedLayout(65)], ...]


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


def inner_output(output: UtxoOutput) -> TransferOutput:
    """Return the transfer output itself, or the one inside a lock."""
    inner = output.output if isinstance(output, LockOut) else output
    assert isinstance(inner, TransferOutput)
    return inner


def inner_input(spent: Input) -> TransferInput:
    """Return the transfer input itself, or the one inside a lock."""
    inner = spent.input if isinstance(spent, LockIn) else spent
    assert isinstance(inner, TransferInput)
    return inner
