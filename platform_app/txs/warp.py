"""The L1 messages in warp messages: parsing bytes to values (pchain.md 11).

They are the content of addressed calls to or from this chain, and have type IDs of their own; `executor.l1` executes
those that ask for something. `primitives.warp` has the messages around them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.l1 import ConvertSubnetToL1Tx, PChainOwner
from primitives import warp
from primitives.codec import INTERFACE, U64, Blob, Codec, FixedLayout
from primitives.codec_errors import CodecError
from primitives.hashing import sha256
from primitives.ids import ID, P_CHAIN_ID
from primitives.warp import (
    MAX_PAYLOAD_SIZE,
    AddressedCall,
    SignedMessage,
    UnsignedMessage,
    WarpError,
    WarpPayload,
)
from utxo.errors import InvalidTx


class L1Message:
    """Interface: a message between the chains of an L1 and this chain."""


@dataclass(frozen=True, slots=True)
class SubnetToL1Conversion(L1Message):
    """Sent by this chain: a subnet has become an L1."""

    conversion_id: ID


@dataclass(frozen=True, slots=True)
class RegisterL1Validator(L1Message):
    """Sent by an L1: a request to add a validator. Its validation ID is the hash of these bytes."""

    subnet_id: ID
    node_id: Blob
    bls_public_key: Annotated[bytes, FixedLayout(48)]
    expiry: U64
    remaining_balance_owner: PChainOwner
    disable_owner: PChainOwner
    weight: U64

    @property
    def validation_id(self) -> ID:
        """The ID of the requested validation."""
        return ID(sha256(build_l1_message(self)))


@dataclass(frozen=True, slots=True)
class L1ValidatorRegistration(L1Message):
    """Sent by this chain: whether a validation exists, or can never exist."""

    validation_id: ID
    registered: bool


@dataclass(frozen=True, slots=True)
class L1ValidatorWeight(L1Message):
    """A request by an L1 to set a weight, or the confirmation by this chain."""

    validation_id: ID
    nonce: U64
    weight: U64


@dataclass(frozen=True, slots=True)
class ConversionValidator:
    """An initial validator of an L1, as the conversion ID commits to it."""

    node_id: Blob
    bls_public_key: Annotated[bytes, FixedLayout(48)]
    weight: U64


@dataclass(frozen=True, slots=True)
class ConversionData:
    """The data of which a conversion ID is the hash: managers of L1s compare it with their own."""

    subnet_id: ID
    manager_chain_id: ID
    manager_address: Blob
    validators: tuple[ConversionValidator, ...]

    @property
    def conversion_id(self) -> ID:
        """The sha256 hash of its bytes."""
        return ID(sha256(_CONVERSIONS.marshal(self)))


def conversion_of(tx: ConvertSubnetToL1Tx) -> ConversionData:
    """Return the data of the conversion by a transaction."""
    validators = (
        ConversionValidator(initial.node_id, initial.signer.public_key, initial.weight)
        for initial in tx.validators
    )
    return ConversionData(tx.subnet_id, tx.chain_id, tx.address, tuple(validators))


def initial_validation_id(subnet_id: ID, index: int) -> ID:
    """Return the validation ID of an L1's initial validator by its place in the conversion."""
    return ID(sha256(subnet_id + index.to_bytes(4, "big")))


_CONVERSIONS = Codec({})
_L1_MESSAGES = Codec(
    {
        0: SubnetToL1Conversion,
        1: RegisterL1Validator,
        2: L1ValidatorRegistration,
        3: L1ValidatorWeight,
    },
    max_size=MAX_PAYLOAD_SIZE,
)
_L1_MESSAGE = Annotated[L1Message, INTERFACE]


def parse_signed_message(raw: bytes) -> SignedMessage:
    """Parse a signed message.

    Raises:
        InvalidTx: The bytes are not a signed message, or the signers' bits have a leading zero
            byte.
    """
    with _refused():
        return warp.parse_signed(raw)


def parse_payload(raw: bytes) -> WarpPayload:
    """Parse the payload of a message.

    Raises:
        InvalidTx: The bytes are not a payload.
    """
    with _refused():
        return warp.parse_payload(raw)


def parse_l1_message(raw: bytes) -> L1Message:
    """Parse the content of an addressed call to or from this chain.

    Raises:
        InvalidTx: The bytes are not such a message.
    """
    with _refused():
        message = _L1_MESSAGES.unmarshal(_L1_MESSAGE, raw)
    assert isinstance(message, L1Message)
    return message


def build_l1_message(message: L1Message) -> bytes:
    """Return the bytes of an L1 message."""
    return _L1_MESSAGES.marshal(message, _L1_MESSAGE)


def statement_of(network_id: int, content: L1Message) -> UnsignedMessage:
    """Return the unsigned message of the P-Chain with a statement about an L1."""
    call = AddressedCall(b"", build_l1_message(content))
    return UnsignedMessage(network_id, P_CHAIN_ID, warp.build_payload(call))


def requested_by(raw: bytes) -> L1Message:
    """Return the request in a signed message from the manager of an L1.

    Raises:
        InvalidTx: The bytes are not such a message.
    """
    call = parse_payload(parse_signed_message(raw).message.payload)
    if not isinstance(call, AddressedCall):
        raise InvalidTx(TxSyntaxReason.INVALID_WARP_MESSAGE, cause="no addressed call")
    return parse_l1_message(call.payload)


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except (CodecError, WarpError) as error:
        raise InvalidTx(TxSyntaxReason.INVALID_WARP_MESSAGE, cause=str(error)) from None
