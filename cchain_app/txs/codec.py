"""Signed transactions from bytes: the types of EIP-2718, canonical RLP only.

Reading goes in two steps, since recovering a sender costs more than all the rest: `decode_unsigned`
reads the fields and the digest that was signed, `with_sender` adds the proven sender. Many are recovered
at once by a `RecoverMany`; `decode_transaction` does all for one. Writing is in `signing`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from cchain_app.txs.errors import (
    BlobTransactionRefused,
    InvalidSignatureValues,
    MalformedTransaction,
    SenderNotRecoverable,
    TransactionTypeNotSupported,
    TypedTransactionTooShort,
    WrongChainId,
)
from cchain_app.txs.layout import LAYOUTS, FieldError, read_struct
from cchain_app.txs.transaction import (
    ACCESS_LIST,
    BLOB,
    DYNAMIC_FEE,
    LEGACY,
    SET_CODE,
    AccessList,
    Authorization,
    Transaction,
)
from primitives import rlp, secp256k1
from primitives.evm import Address, Hash
from primitives.hashing import keccak256
from primitives.secp256k1 import SignedDigest

RecoverMany = Callable[[Sequence[SignedDigest]], Sequence[Address | None]]
"""Recovers the senders of many signatures at once; None where there is no sender."""

_TYPED = frozenset({ACCESS_LIST, DYNAMIC_FEE, BLOB, SET_CODE})

_UNPROTECTED = frozenset({0, 1, 27, 28})
"""What v is in a legacy transaction that names no chain; 0 and 1 are never valid."""

_POSITIONED = (
    rlp.ExpectedList,
    rlp.ExpectedString,
    rlp.NonCanonicalSize,
    rlp.NonCanonicalInteger,
    rlp.InputTooLong,
    rlp.InputTooShort,
    rlp.TooFewElements,
    rlp.TooManyElements,
)
"""The reasons to which go-ethereum's messages add type and place; the others stand alone."""


class DecodedTransaction(NamedTuple):
    """A transaction whose fields were read, but whose signature was not checked yet."""

    type: int
    hash: Hash
    raw: bytes
    chain_id: int | None
    """None for a legacy transaction without replay protection."""
    nonce: int
    gas: int
    to: Address | None
    value: int
    data: bytes
    max_fee_per_gas: int
    max_priority_fee_per_gas: int
    access_list: AccessList
    authorizations: tuple[Authorization, ...]
    v: int
    r: int
    s: int
    digest: Hash
    """What the sender signed."""
    max_fee_per_blob_gas: int = 0
    blob_hashes: tuple[Hash, ...] = ()

    @property
    def y_parity(self) -> int:
        """What v says of the point; outside 0 and 1 when v cannot be right."""
        if self.type != LEGACY:
            return self.v
        return self.v - 27 if self.chain_id is None else (self.v - 35) % 2


def decode_transaction(raw: bytes, chain_id: int) -> Transaction:
    """Read a signed transaction for the chain and recover its sender.

    Raises:
        InvalidTransaction: As `decode_unsigned`, `check_signature` and `recover_sender` do.
    """
    decoded = decode_unsigned(raw)
    check_signature(decoded, chain_id)
    return with_sender(decoded, recover_sender(decoded))


def decode_unsigned(raw: bytes, *, blobs: bool = False) -> DecodedTransaction:
    """Read the fields of a signed transaction without looking at the signature.

    Unspecified: integers above 256 bits, which go-ethereum reads and refuses later by what they
    are, are refused here with its words for 256-bit fields.

    Args:
        raw: The envelope.
        blobs: Also read one of type 3, which only blocks of chains that others made have.

    Raises:
        TypedTransactionTooShort: There is nothing, or nothing behind the type.
        TransactionTypeNotSupported: The type is unknown.
        BlobTransactionRefused: It is of type 3, which are not read here.
        MalformedTransaction: It is not the canonical RLP of its type.
    """
    if raw and raw[0] > 0x7F:
        return _decode_legacy(raw)
    if len(raw) <= 1:
        raise TypedTransactionTooShort
    if raw[0] == BLOB and not blobs:
        raise BlobTransactionRefused
    if raw[0] not in _TYPED:
        raise TransactionTypeNotSupported
    return _decode_typed(raw)


def check_signature(decoded: DecodedTransaction, chain_id: int) -> None:
    """Check that a transaction is meant for the chain and that its signature can be one.

    Unspecified: as in go-ethereum a legacy transaction with v 27 or 28 is for every chain, and
    any other v names one, by (v - 35) / 2 in 64-bit arithmetic.

    Raises:
        WrongChainId: It is meant for another chain.
        InvalidSignatureValues: v, r or s is outside its range.
    """
    if decoded.chain_id is not None and decoded.chain_id != chain_id:
        raise WrongChainId(decoded.chain_id, chain_id)
    if not secp256k1.is_valid(decoded.r, decoded.s, decoded.y_parity):
        raise InvalidSignatureValues


def recover_sender(decoded: DecodedTransaction) -> Address:
    """Return who signed a transaction that `check_signature` let pass.

    Raises:
        SenderNotRecoverable: Nobody can have signed it.
    """
    try:
        return secp256k1.recover(*signed_digest(decoded))
    except secp256k1.SignatureError as error:
        raise SenderNotRecoverable from error


def signed_digest(decoded: DecodedTransaction) -> SignedDigest:
    """Return what a batch recovery needs to know of a transaction."""
    return SignedDigest(decoded.digest, decoded.r, decoded.s, decoded.y_parity)


def with_sender(decoded: DecodedTransaction, sender: Address) -> Transaction:
    """Return the transaction with the sender that was recovered, or is known from its row."""
    return Transaction(
        decoded.type,
        decoded.hash,
        decoded.raw,
        sender,
        decoded.chain_id,
        decoded.nonce,
        decoded.gas,
        decoded.to,
        decoded.value,
        decoded.data,
        decoded.max_fee_per_gas,
        decoded.max_priority_fee_per_gas,
        decoded.access_list,
        decoded.authorizations,
        decoded.v,
        decoded.r,
        decoded.s,
        decoded.max_fee_per_blob_gas,
        decoded.blob_hashes,
    )


def _decode_legacy(raw: bytes) -> DecodedTransaction:
    body, fields = _read(raw, LEGACY)
    nonce, price, gas, to, value, data, v, r, s = fields
    signed = _without_signature(body, v, r, s)
    chain_id = None if v in _UNPROTECTED else _chain_id_of(v)
    if chain_id is not None:
        # EIP-155: the signature covers the chain ID and two empty fields in place of itself
        signed += rlp.encode_uint(chain_id) + b"\x80\x80"
    return DecodedTransaction(
        type=LEGACY,
        hash=keccak256(raw),
        raw=raw,
        chain_id=chain_id,
        nonce=nonce,
        gas=gas,
        to=to,
        value=value,
        data=data,
        max_fee_per_gas=price,
        max_priority_fee_per_gas=price,
        access_list=(),
        authorizations=(),
        v=v,
        r=r,
        s=s,
        digest=keccak256(rlp.list_prefix(len(signed)) + signed),
    )


def _chain_id_of(v: int) -> int:
    """Return which chain a protected legacy transaction names."""
    return (v - 35) // 2 if v >> 64 else ((v - 35) % 2**64) // 2


def _decode_typed(raw: bytes) -> DecodedTransaction:
    type_ = raw[0]
    body, fields = _read(raw, type_)
    *content, v, r, s = fields
    authorizations = content.pop() if type_ == SET_CODE else ()
    blob_hashes = content.pop() if type_ == BLOB else ()
    max_fee_per_blob_gas = content.pop() if type_ == BLOB else 0
    chain_id, nonce, *fees, gas, to, value, data, access_list = content
    signed = _without_signature(body, v, r, s)
    return DecodedTransaction(
        type=type_,
        hash=keccak256(raw),
        raw=raw,
        chain_id=chain_id,
        nonce=nonce,
        gas=gas,
        to=to,
        value=value,
        data=data,
        max_fee_per_gas=fees[-1],  # the tip stands before it; type 1 has one price for both
        max_priority_fee_per_gas=fees[0],
        access_list=access_list,
        authorizations=authorizations,
        v=v,
        r=r,
        s=s,
        digest=keccak256(raw[:1] + rlp.list_prefix(len(signed)) + signed),
        max_fee_per_blob_gas=max_fee_per_blob_gas,
        blob_hashes=blob_hashes,
    )


def _read(raw: bytes, type_: int) -> tuple[bytes, list[Any]]:
    """Return the payload of the transaction's list, and its fields."""
    layout = LAYOUTS[type_]
    try:
        body = rlp.read_only_item(raw, 0 if type_ == LEGACY else 1)
        return body, read_struct(body, layout)
    except FieldError as error:
        place = f", decoding into ({layout.type_name}){error.path}" if error.path else ""
        raise _malformed(error.cause, error.type_name, place) from error.cause
    except rlp.RlpError as error:
        raise _malformed(error, layout.type_name, "") from error


def _malformed(cause: rlp.RlpError, type_name: str, place: str) -> MalformedTransaction:
    context = f" for {type_name}{place}" if isinstance(cause, _POSITIONED) else ""
    return MalformedTransaction(f"rlp: {cause.reason}{context}")


def _without_signature(body: bytes, v: int, r: int, s: int) -> bytes:
    """Return the fields before the signature, as they stand: canonical RLP needs no re-encoding."""
    return bytes(body[: len(body) - _size(v) - _size(r) - _size(s)])


def _size(number: int) -> int:
    """Return how many bytes the encoding of an integer of at most 256 bits has."""
    return 1 if number < 0x80 else 1 + (number.bit_length() + 7) // 8
