"""Outputs, operations and credentials of the feature extensions: coins, collectibles, property (xchain.md 5).

An extension's index is its position in the transaction that creates the chain: secp256k1fx 0, nftfx 1, propertyfx 2.
Coins move by inputs and outputs; collectibles and property move by operations only. Layout only: fields are in
serialisation order.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from primitives.codec import U32, Blob
from primitives.ids import ID, NFT_FX_ID, PROPERTY_FX_ID, SECP256K1_FX_ID
from utxo.components import (
    OutputOwners,
    SignatureCredential,
    TransferInput,
    TransferOutput,
    UtxoContent,
)

COINS: Final = 0
COLLECTIBLES: Final = 1
PROPERTY: Final = 2
EXTENSION_IDS: Final = (SECP256K1_FX_ID, NFT_FX_ID, PROPERTY_FX_ID)
"""The IDs of the extensions, by index."""


class FxOperation:
    """Interface: an operation of an extension on one UTXO."""

    REFERENCE_NAME: ClassVar[str] = "fxs.FxOperation"


@dataclass(frozen=True, slots=True)
class SigningIndices:
    """The indices of the owners that have signed an operation."""

    signature_indices: tuple[U32, ...]


@dataclass(frozen=True, slots=True)
class MintOutput(UtxoContent):
    """The right to mint coins of an asset. It lasts: minting creates it again."""

    REFERENCE_NAME: ClassVar[str] = "*secp256k1fx.MintOutput"

    owners: OutputOwners


@dataclass(frozen=True, slots=True)
class MintOperation(FxOperation):
    """Mints coins with a `MintOutput`."""

    REFERENCE_NAME: ClassVar[str] = "*secp256k1fx.MintOperation"

    mint_input: SigningIndices
    mint_output: MintOutput
    transfer_output: TransferOutput


@dataclass(frozen=True, slots=True)
class NftMintOutput(UtxoContent):
    """The right to mint collectibles of a group, in one operation."""

    REFERENCE_NAME: ClassVar[str] = "*nftfx.MintOutput"

    group_id: U32
    owners: OutputOwners


@dataclass(frozen=True, slots=True)
class NftTransferOutput(UtxoContent):
    """A collectible."""

    REFERENCE_NAME: ClassVar[str] = "*nftfx.TransferOutput"

    group_id: U32
    payload: Blob
    owners: OutputOwners


@dataclass(frozen=True, slots=True)
class NftMintOperation(FxOperation):
    """Mints equal collectibles with an `NftMintOutput`, one for each of the owners."""

    REFERENCE_NAME: ClassVar[str] = "*nftfx.MintOperation"

    mint_input: SigningIndices
    group_id: U32
    payload: Blob
    outputs: tuple[OutputOwners, ...]


@dataclass(frozen=True, slots=True)
class NftTransferOperation(FxOperation):
    """Gives a collectible to other owners."""

    REFERENCE_NAME: ClassVar[str] = "*nftfx.TransferOperation"

    input: SigningIndices
    output: NftTransferOutput


@dataclass(frozen=True, slots=True)
class NftCredential(SignatureCredential):
    """The signatures for an operation on collectibles."""

    REFERENCE_NAME: ClassVar[str] = "*nftfx.Credential"


@dataclass(frozen=True, slots=True)
class PropertyMintOutput(UtxoContent):
    """The right to mint property of an asset. It lasts: minting creates it again."""

    REFERENCE_NAME: ClassVar[str] = "*propertyfx.MintOutput"

    owners: OutputOwners


@dataclass(frozen=True, slots=True)
class OwnedOutput(UtxoContent):
    """A piece of property."""

    REFERENCE_NAME: ClassVar[str] = "*propertyfx.OwnedOutput"

    owners: OutputOwners


@dataclass(frozen=True, slots=True)
class PropertyMintOperation(FxOperation):
    """Mints a piece of property with a `PropertyMintOutput`."""

    REFERENCE_NAME: ClassVar[str] = "*propertyfx.MintOperation"

    mint_input: SigningIndices
    mint_output: PropertyMintOutput
    owned_output: OwnedOutput


@dataclass(frozen=True, slots=True)
class BurnOperation(FxOperation):
    """Destroys a piece of property."""

    REFERENCE_NAME: ClassVar[str] = "*propertyfx.BurnOperation"

    signature_indices: tuple[U32, ...]


@dataclass(frozen=True, slots=True)
class PropertyCredential(SignatureCredential):
    """The signatures for an operation on property."""

    REFERENCE_NAME: ClassVar[str] = "*propertyfx.Credential"


_EXTENSION_OF: dict[type, int] = {
    TransferInput: COINS,
    MintOutput: COINS,
    TransferOutput: COINS,
    MintOperation: COINS,
    SignatureCredential: COINS,
    NftMintOutput: COLLECTIBLES,
    NftTransferOutput: COLLECTIBLES,
    NftMintOperation: COLLECTIBLES,
    NftTransferOperation: COLLECTIBLES,
    NftCredential: COLLECTIBLES,
    PropertyMintOutput: PROPERTY,
    OwnedOutput: PROPERTY,
    PropertyMintOperation: PROPERTY,
    BurnOperation: PROPERTY,
    PropertyCredential: PROPERTY,
}


def extension_of(value: object) -> int:
    """Return the index of the extension that an output, operation, input or credential belongs to."""
    return _EXTENSION_OF[type(value)]


def extension_id(value: object) -> ID:
    """Return the ID of the extension that an output, operation, input or credential belongs to."""
    return EXTENSION_IDS[extension_of(value)]


def owners_of(content: UtxoContent) -> OutputOwners:
    """Return the owners of an output of any extension."""
    assert isinstance(
        content,
        TransferOutput | MintOutput | NftMintOutput | NftTransferOutput
        | PropertyMintOutput | OwnedOutput,
    )  # fmt: skip
    return content.owners
