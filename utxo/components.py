"""Parts of transactions: owners, inputs, outputs, UTXOs, credentials. Layout only (pchain.md 2.3).

Fields are in serialisation order; `primitives.codec` reads it from the annotations. Each chain's codec has
the type IDs. The rules for well-formed parts are in `well_formed`. `REFERENCE_NAME` is the name of a class in errors of
the codec.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, ClassVar

from primitives import ids
from primitives.codec import INTERFACE, U32, U64, FixedLayout
from primitives.ids import ID, ShortID


class Owner:
    """Interface: the owners of an output, a reward or a subnet."""


class UtxoContent:
    """Interface: the content of a UTXO, which need not be an amount."""

    REFERENCE_NAME: ClassVar[str] = "verify.State"


class UtxoOutput(UtxoContent):
    """Interface: an amount of an asset, which inputs can spend."""

    REFERENCE_NAME: ClassVar[str] = "avax.TransferableOut"


class Input:
    """Interface: the data with which a UTXO is spent."""

    REFERENCE_NAME: ClassVar[str] = "avax.TransferableIn"


class Credential:
    """Interface: signatures for an input or an authorization."""

    REFERENCE_NAME: ClassVar[str] = "verify.Verifiable"


@dataclass(frozen=True, slots=True)
class OutputOwners(Owner):
    """Addresses, the number of them that must sign, and the Unix time before which they cannot sign."""

    REFERENCE_NAME: ClassVar[str] = "*secp256k1fx.OutputOwners"

    locktime: U64
    threshold: U32
    addresses: tuple[ShortID, ...]


@dataclass(frozen=True, slots=True)
class TransferOutput(UtxoOutput):
    """An amount that its owners can spend. The owners' fields are serialised without a type ID."""

    REFERENCE_NAME: ClassVar[str] = "*secp256k1fx.TransferOutput"

    amount: U64
    owners: OutputOwners


@dataclass(frozen=True, slots=True)
class TransferInput(Input):
    """Spends a `TransferOutput`; the indices identify the owners that have signed."""

    REFERENCE_NAME: ClassVar[str] = "*secp256k1fx.TransferInput"

    amount: U64
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
    output: Annotated[UtxoContent, INTERFACE]

    @property
    def utxo_id(self) -> ID:
        """The key of the UTXO in the state."""
        return ids.utxo_id(self.tx_id, self.output_index)


@dataclass(frozen=True, slots=True)
class SignatureCredential(Credential):
    """65-byte recoverable signatures, one for each index of its input."""

    REFERENCE_NAME: ClassVar[str] = "*secp256k1fx.Credential"

    signatures: tuple[Annotated[bytes, FixedLayout(65)], ...]


def utxos_of(tx_id: ID, first_index: int, outputs: Iterable[TransferableOutput]) -> Iterable[UTXO]:
    """Yield the UTXOs of a transaction's outputs, numbered from an index."""
    for index, output in enumerate(outputs, first_index):
        yield UTXO(tx_id, index, output.asset_id, output.output)
