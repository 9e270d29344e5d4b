"""Parts of transactions: owners, inputs, outputs, UTXOs, credentials. Layout only (pchain.md 2.3).

The order of fields is the order on the wire; `primitives.codec` reads it from the annotations.
What makes a part well formed is in `syntax`.
"""

from dataclasses import dataclass
from typing import Annotated

from primitives import ids
from primitives.codec import INTERFACE, U32, U64, Fixed
from primitives.ids import ID, NodeID, ShortID


class Owner:
    """Interface: who may do something."""


class Output:
    """Interface: what a UTXO holds."""


class Input:
    """Interface: how a UTXO is spent."""


class Auth:
    """Interface: how a subnet's owner shows itself."""


class Credential:
    """Interface: signatures for an input or an authorization."""


class Signer:
    """Interface: the BLS key of a validator, or that there is none."""


@dataclass(frozen=True, slots=True)
class OutputOwners(Owner):
    """So many of these addresses must sign, and not before the locktime (Unix seconds)."""

    locktime: U64
    threshold: U32
    addresses: tuple[ShortID, ...]


@dataclass(frozen=True, slots=True)
class TransferOutput(Output):
    """An amount that its owners can spend. The owners' fields stand in it without a type ID."""

    amount: U64
    owners: OutputOwners


@dataclass(frozen=True, slots=True)
class LockOut(Output):
    """An output that can only be staked until the locktime."""

    locktime: U64
    output: Annotated[Output, INTERFACE]


@dataclass(frozen=True, slots=True)
class TransferInput(Input):
    """Spends a `TransferOutput`; the indices say which of its owners have signed."""

    amount: U64
    signature_indices: tuple[U32, ...]


@dataclass(frozen=True, slots=True)
class LockIn(Input):
    """Spends a `LockOut` that is still locked."""

    locktime: U64
    input: Annotated[Input, INTERFACE]


@dataclass(frozen=True, slots=True)
class AuthInput(Auth):
    """Which of a subnet's control keys have signed."""

    signature_indices: tuple[U32, ...]


@dataclass(frozen=True, slots=True)
class TransferableOutput:
    """An output and its asset."""

    asset_id: ID
    output: Annotated[Output, INTERFACE]


@dataclass(frozen=True, slots=True)
class TransferableInput:
    """Names the UTXO that is spent."""

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
    output: Annotated[Output, INTERFACE]

    @property
    def utxo_id(self) -> ID:
        """Its key in the state."""
        return ids.utxo_id(self.tx_id, self.output_index)


@dataclass(frozen=True, slots=True)
class SignatureCredential(Credential):
    """65-byte recoverable signatures, one for each index of the input that it belongs to."""

    signatures: tuple[Annotated[bytes, Fixed(65)], ...]


@dataclass(frozen=True, slots=True)
class EmptySigner(Signer):
    """A validator without a BLS key."""


@dataclass(frozen=True, slots=True)
class ProofOfPossession(Signer):
    """A BLS public key, and the proof that somebody has its secret."""

    public_key: Annotated[bytes, Fixed(48)]
    proof_of_possession: Annotated[bytes, Fixed(96)]


@dataclass(frozen=True, slots=True)
class Validator:
    """A staking period: Unix seconds and a weight in the smallest unit of the staked asset."""

    node_id: NodeID
    start: U64
    end: U64
    weight: U64


@dataclass(frozen=True, slots=True)
class SubnetValidator(Validator):
    """A staking period on a subnet."""

    subnet_id: ID


def inner_output(output: Output) -> TransferOutput:
    """Return the transfer output itself, or the one inside a lock."""
    inner = output.output if isinstance(output, LockOut) else output
    assert isinstance(inner, TransferOutput)
    return inner


def inner_input(spent: Input) -> TransferInput:
    """Return the transfer input itself, or the one inside a lock."""
    inner = spent.input if isinstance(spent, LockIn) else spent
    assert isinstance(inner, TransferInput)
    return inner
