"""A chain with UTXOs that is not the P-Chain: the X-Chain's type IDs, and two of its outputs without an amount."""

from dataclasses import dataclass

from primitives.codec import U32, Blob, Codec
from primitives.hashing import sha256
from primitives.ids import ID, ShortID
from primitives.keys import address_of
from utxo.components import (
    UTXO,
    OutputOwners,
    SignatureCredential,
    TransferableInput,
    TransferableOutput,
    TransferInput,
    TransferOutput,
    UtxoContent,
)

KEYS = tuple(sorted((sha256(b"key %d" % number) for number in range(3)), key=address_of))
"""Private keys in the order of their addresses."""
ADDRESSES = tuple(map(address_of, KEYS))
COIN, OTHER_COIN = ID(sha256(b"coin")), ID(sha256(b"other coin"))
NOW = 1_700_000_000


@dataclass(frozen=True, slots=True)
class MintOutput(UtxoContent):
    """The right to mint an asset."""

    owners: OutputOwners


@dataclass(frozen=True, slots=True)
class CollectibleOutput(UtxoContent):
    """A collectible."""

    group_id: U32
    payload: Blob
    owners: OutputOwners


CODEC = Codec(
    {
        5: TransferInput,
        6: MintOutput,
        7: TransferOutput,
        9: SignatureCredential,
        11: CollectibleOutput,
    }
)


def owners(*addresses: ShortID, threshold: int = 1, locktime: int = 0) -> OutputOwners:
    """Return owners; without arguments, the first address."""
    return OutputOwners(locktime, threshold, addresses or ADDRESSES[:1])


def coin(amount: int, of_owners: OutputOwners | None = None) -> TransferOutput:
    """Return an output of an amount."""
    return TransferOutput(amount, of_owners or owners())


def transferable(amount: int, asset_id: ID = COIN) -> TransferableOutput:
    """Return an output of an amount of an asset."""
    return TransferableOutput(asset_id, coin(amount))


def utxo(content: UtxoContent, number: int = 0, asset_id: ID = COIN) -> UTXO:
    """Return a UTXO with a content."""
    return UTXO(ID(sha256(b"tx")), number, asset_id, content)


def spending(amount: int, *indices: int, number: int = 0, asset_id: ID = COIN) -> TransferableInput:
    """Return an input of an amount."""
    return TransferableInput(ID(sha256(b"tx")), number, asset_id, TransferInput(amount, indices))
