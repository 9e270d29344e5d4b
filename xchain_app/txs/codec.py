"""The type IDs of all X-Chain types, and parsing and building of signed transactions (xchain.md 3).

The numbers follow from the order of registration in the reference: transactions, extensions, block. Whether a
transaction is well formed is in `syntax`.
"""

from typing import Annotated, ClassVar

from primitives.codec import INTERFACE, VERSION, Codec
from primitives.secp256k1 import SIGNATURE_SIZE
from utxo.components import Credential, SignatureCredential, TransferInput, TransferOutput
from xchain_app.txs import base, extensions
from xchain_app.txs.base import AvmBaseTx, AvmTx, SignedAvmBody, UnsignedAvmTx

GENESIS_SIZE_LIMIT = 2**31 - 1


class AvmBlockType:
    """A placeholder for the type ID of blocks, which transactions cannot have."""

    REFERENCE_NAME: ClassVar[str] = "*block.StandardBlock"


TYPES: dict[int, type] = {
    0: AvmBaseTx,
    1: base.CreateAssetTx,
    2: base.OperationTx,
    3: base.AvmImportTx,
    4: base.AvmExportTx,
    5: TransferInput,
    6: extensions.MintOutput,
    7: TransferOutput,
    8: extensions.MintOperation,
    9: SignatureCredential,
    10: extensions.NftMintOutput,
    11: extensions.NftTransferOutput,
    12: extensions.NftMintOperation,
    13: extensions.NftTransferOperation,
    14: extensions.NftCredential,
    15: extensions.PropertyMintOutput,
    16: extensions.OwnedOutput,
    17: extensions.PropertyMintOperation,
    18: extensions.BurnOperation,
    19: extensions.PropertyCredential,
    20: AvmBlockType,
}

CODEC = Codec(TYPES)
GENESIS_CODEC = Codec(TYPES, max_size=GENESIS_SIZE_LIMIT)
"""Codec for the genesis and for stored transactions, which may be of any size."""

_UNSIGNED = Annotated[UnsignedAvmTx, INTERFACE]


def parse(raw: bytes, codec: Codec = CODEC) -> AvmTx:
    """Parse a signed transaction.

    Raises:
        CodecError: The bytes are not a transaction.
    """
    return _tx(codec.unmarshal(SignedAvmBody, raw), raw)


def parse_stored(raw: bytes) -> AvmTx:
    """Parse an accepted transaction, which may be a large asset of the genesis."""
    return parse(raw, GENESIS_CODEC)


def parse_embedded(data: bytes, offset: int) -> tuple[AvmTx, int]:
    """Parse the transaction that starts, without a version, at offset; also return its end.

    Raises:
        CodecError: There is no transaction at the offset.
    """
    body, end = CODEC.read(SignedAvmBody, data, offset)
    return _tx(body, VERSION + data[offset:end]), end


def embed(tx: AvmTx) -> bytes:
    """Return the bytes of a transaction within a block."""
    return tx.raw[len(VERSION) :]


def sign_bytes(unsigned: AvmBaseTx) -> bytes:
    """Return the bytes that are signed: the codec version and the unsigned transaction.

    Raises:
        CodecError: A value does not fit into its field.
    """
    return VERSION + CODEC.pack(unsigned, _UNSIGNED)


def build(unsigned: AvmBaseTx, credentials: tuple[Credential, ...], codec: Codec = CODEC) -> AvmTx:
    """Build a signed transaction from its parts.

    Raises:
        CodecError: A value does not fit into its field, or the result exceeds the codec's size limit.
    """
    body = SignedAvmBody(unsigned, credentials)
    return _tx(body, codec.marshal(body))


def _tx(body: SignedAvmBody, raw: bytes) -> AvmTx:
    assert isinstance(body.unsigned, AvmBaseTx)
    return AvmTx(
        unsigned=body.unsigned,
        credentials=body.credentials,
        raw=raw,
        unsigned_size=len(raw) - _size_of(body.credentials),
    )


def _size_of(credentials: tuple[Credential, ...]) -> int:
    """Return the size of credentials in bytes: a count, then type, count and signatures of each."""
    size = 4
    for credential in credentials:
        assert isinstance(credential, SignatureCredential)
        size += 8 + SIGNATURE_SIZE * len(credential.signatures)
    return size
