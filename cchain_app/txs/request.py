"""A transaction or call as requested by a client: the node chooses the missing fields.

The choice depends on the method: `eth_call` chooses values that cost nothing, `eth_fillTransaction` values with
which the transaction gets mined.
"""

from typing import NamedTuple

from cchain_app.txs.signing import UnsignedTransaction, encode_unsigned
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
from primitives.evm import ZERO_ADDRESS, Address, Hash
from primitives.hashing import keccak256


class BlobsOfRequest(NamedTuple):
    """The blobs in a transaction request; None for missing members."""

    blobs: tuple[bytes, ...] | None = None
    commitments: tuple[bytes, ...] | None = None
    proofs: tuple[bytes, ...] | None = None
    """One proof for each blob, or 128."""


class CallRequest(NamedTuple):
    """A call object as it was sent; None for missing fields."""

    sender: Address = ZERO_ADDRESS
    to: Address | None = None
    """None: contract creation, with the data as init code."""
    gas: int | None = None
    gas_price: int | None = None
    """Wei."""
    max_fee_per_gas: int | None = None
    """Wei."""
    max_priority_fee_per_gas: int | None = None
    """Wei."""
    value: int = 0
    """Wei."""
    data: bytes = b""
    nonce: int | None = None
    chain_id: int | None = None
    access_list: AccessList = ()
    authorizations: tuple[Authorization, ...] | None = None
    blob_hashes: tuple[Hash, ...] | None = None
    max_fee_per_blob_gas: int | None = None
    """Wei."""
    wanted_type: int | None = None
    """The requested type; None: the type follows from the fields."""
    blobs: BlobsOfRequest | None = None
    """Only in requests for transactions; a call has nothing but the versioned hashes."""

    @property
    def type(self) -> int:
        """The requested transaction type, or the one that follows from the fields.

        Unspecified: with a gas price it is of type 0, and of type 1 if it has an access list.
        """
        if self.wanted_type is not None:
            return self.wanted_type
        if self.authorizations is not None:
            return SET_CODE
        if self.blob_hashes is not None:
            return BLOB
        if self.gas_price is None:
            return DYNAMIC_FEE
        return ACCESS_LIST if self.access_list else LEGACY


def unsigned(request: CallRequest, *, chain_id: int, nonce: int, gas: int) -> Transaction:
    """Return the transaction for a request, with zeros for its signature.

    Its sender is the request's, although its bytes do not contain it. Missing prices are zero.

    Args:
        request: The client's request.
        chain_id: Chain ID of the transaction.
        nonce: Nonce of the sender.
        gas: Its gas limit.
    """
    known = None if request.type == LEGACY else chain_id
    fields = to_be_signed(request, chain_id=known, nonce=nonce, gas=gas)
    raw = encode_unsigned(fields)
    return Transaction(
        type=fields.type,
        hash=keccak256(raw),
        raw=raw,
        sender=request.sender,
        chain_id=known,
        nonce=nonce,
        gas=gas,
        to=fields.to,
        value=fields.value,
        data=fields.data,
        max_fee_per_gas=fields.max_fee_per_gas,
        max_priority_fee_per_gas=fields.max_priority_fee_per_gas,
        access_list=fields.access_list,
        authorizations=fields.authorizations,
        v=0,
        r=0,
        s=0,
        max_fee_per_blob_gas=fields.max_fee_per_blob_gas,
        blob_hashes=fields.blob_hashes,
    )


def to_be_signed(
    request: CallRequest, *, chain_id: int | None, nonce: int, gas: int
) -> UnsignedTransaction:
    """Return the unsigned transaction for a request, ready to be signed.

    Args:
        request: The client's request; missing prices are zero.
        chain_id: Chain ID of the transaction; None, only for type 0: a transaction without a chain ID.
        nonce: Nonce of the sender.
        gas: Its gas limit.
    """
    price = request.gas_price
    fee = (request.max_fee_per_gas or 0) if price is None else price
    tip = (request.max_priority_fee_per_gas or 0) if price is None else price
    return UnsignedTransaction(
        type=request.type,
        chain_id=chain_id,
        nonce=nonce,
        gas=gas,
        to=request.to,
        value=request.value,
        max_fee_per_gas=fee,
        max_priority_fee_per_gas=tip,
        data=request.data,
        access_list=request.access_list,
        authorizations=request.authorizations or (),
        max_fee_per_blob_gas=request.max_fee_per_blob_gas or 0,
        blob_hashes=request.blob_hashes or (),
    )
