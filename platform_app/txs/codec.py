"""The type IDs of all P-Chain types, and parsing and building of signed transactions.

Layout only (pchain.md 2.2, 3); whether a transaction is well formed is in `syntax`.
"""

from typing import Annotated

from platform_app.txs import base, l1, staking, subnets
from platform_app.txs.base import BaseTx, SignedBody, Tx, UnsignedTx
from primitives.codec import INTERFACE, Codec
from primitives.secp256k1 import SIGNATURE_SIZE
from utxo.components import (
    Credential,
    OutputOwners,
    SignatureCredential,
    TransferInput,
    TransferOutput,
)

GENESIS_SIZE_LIMIT = 2**31 - 1


class BlockType:
    """A placeholder for the type IDs of blocks, which transactions cannot have."""


TYPES: dict[int, type] = {
    **dict.fromkeys((0, 1, 2, 3, 4, 29, 30, 31, 32), BlockType),
    5: TransferInput,
    7: TransferOutput,
    9: SignatureCredential,
    10: base.AuthInput,
    11: OutputOwners,
    12: staking.AddValidatorTx,
    13: subnets.AddSubnetValidatorTx,
    14: staking.AddDelegatorTx,
    15: subnets.CreateChainTx,
    16: subnets.CreateSubnetTx,
    17: subnets.ImportTx,
    18: subnets.ExportTx,
    19: staking.AdvanceTimeTx,
    20: staking.RewardValidatorTx,
    21: base.LockIn,
    22: base.LockOut,
    23: subnets.RemoveSubnetValidatorTx,
    24: subnets.TransformSubnetTx,
    25: staking.AddPermissionlessValidatorTx,
    26: staking.AddPermissionlessDelegatorTx,
    27: base.EmptySigner,
    28: base.ProofOfPossession,
    33: subnets.TransferSubnetOwnershipTx,
    34: BaseTx,
    35: l1.ConvertSubnetToL1Tx,
    36: l1.RegisterL1ValidatorTx,
    37: l1.SetL1ValidatorWeightTx,
    38: l1.IncreaseL1ValidatorBalanceTx,
    39: l1.DisableL1ValidatorTx,
    40: l1.AddAutoRenewedValidatorTx,
    41: l1.SetAutoRenewedValidatorConfigTx,
    42: l1.RewardAutoRenewedValidatorTx,
}

CODEC = Codec(TYPES)
GENESIS_CODEC = Codec(TYPES, max_size=GENESIS_SIZE_LIMIT)
"""Codec for transactions from the network's genesis, which may be of any size."""

_VERSION = b"\0\0"
_UNSIGNED = Annotated[UnsignedTx, INTERFACE]


def parse(raw: bytes, codec: Codec = CODEC) -> Tx:
    """Parse a signed transaction.

    Raises:
        CodecError: The bytes are not a transaction.
    """
    return _tx(codec.unmarshal(SignedBody, raw), raw)


def parse_embedded(data: bytes, offset: int, codec: Codec = CODEC) -> tuple[Tx, int]:
    """Parse the transaction that starts, without a version, at offset; also return its end.

    Raises:
        CodecError: There is no transaction at the offset.
    """
    body, end = codec.read(SignedBody, data, offset)
    return _tx(body, _VERSION + data[offset:end]), end


def embed(tx: Tx) -> bytes:
    """Return the bytes of a transaction within a block."""
    return tx.raw[len(_VERSION) :]


def sign_bytes(unsigned: UnsignedTx) -> bytes:
    """Return the bytes that are signed: the codec version and the unsigned transaction.

    Raises:
        CodecError: A value does not fit into its field.
    """
    return _VERSION + CODEC.pack(unsigned, _UNSIGNED)


def build(unsigned: UnsignedTx, credentials: tuple[Credential, ...], codec: Codec = CODEC) -> Tx:
    """Build a signed transaction from its parts.

    Raises:
        CodecError: A value does not fit into its field, or the result exceeds the codec's size limit.
    """
    body = SignedBody(unsigned, credentials)
    return _tx(body, codec.marshal(body))


def _tx(body: SignedBody, raw: bytes) -> Tx:
    return Tx(
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
