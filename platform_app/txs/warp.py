"""Warp messages and the L1 messages in them: parsing bytes to values (pchain.md 11).

There are three codecs, each with its own type IDs: for the signed message, for its payload, and for the
content of an addressed call to or from this chain. Signatures are not verified, because this chain executes
no such transaction.
"""

from dataclasses import dataclass
from typing import Annotated

from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.l1 import PChainOwner
from primitives.codec import INTERFACE, U32, U64, Blob, Codec, FixedLayout
from primitives.codec_errors import CodecError
from primitives.hashing import sha256
from primitives.ids import ID
from utxo.errors import InvalidTx

MAX_PAYLOAD_SIZE = 24 * 1024


class WarpSignature:
    """Interface: the signature of a message."""


class WarpPayload:
    """Interface: the content of a message."""


class L1Message:
    """Interface: a message between the chains of an L1 and this chain."""


@dataclass(frozen=True, slots=True)
class BitSetSignature(WarpSignature):
    """An aggregate BLS signature, and a bit for each validator of the source's subnet."""

    signers: Blob
    signature: Annotated[bytes, FixedLayout(96)]

    @property
    def signer_count(self) -> int:
        """The number of validators that have signed."""
        return int.from_bytes(self.signers, "big").bit_count()


@dataclass(frozen=True, slots=True)
class UnsignedMessage:
    """The part of a message that validators sign."""

    network_id: U32
    source_chain_id: ID
    payload: Blob

    @property
    def message_id(self) -> ID:
        """The sha256 hash of its bytes."""
        return ID(sha256(_MESSAGES.marshal(self)))


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """A message and its signature."""

    message: UnsignedMessage
    signature: Annotated[WarpSignature, INTERFACE]

    @property
    def signer_count(self) -> int:
        """The number of validators that have signed."""
        assert isinstance(self.signature, BitSetSignature)
        return self.signature.signer_count


@dataclass(frozen=True, slots=True)
class HashPayload(WarpPayload):
    """A payload that is only a hash."""

    hash: ID


@dataclass(frozen=True, slots=True)
class AddressedCall(WarpPayload):
    """Bytes from an address on the source chain."""

    source_address: Blob
    payload: Blob


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


_MESSAGES = Codec({0: BitSetSignature})
_PAYLOADS = Codec({0: HashPayload, 1: AddressedCall}, max_size=MAX_PAYLOAD_SIZE)
_L1_MESSAGES = Codec(
    {
        0: SubnetToL1Conversion,
        1: RegisterL1Validator,
        2: L1ValidatorRegistration,
        3: L1ValidatorWeight,
    },
    max_size=MAX_PAYLOAD_SIZE,
)
_PAYLOAD = Annotated[WarpPayload, INTERFACE]
_L1_MESSAGE = Annotated[L1Message, INTERFACE]


def parse_signed_message(raw: bytes) -> SignedMessage:
    """Parse a signed message.

    Raises:
        InvalidTx: The bytes are not a signed message, or the signers' bits have a leading zero
            byte.
    """
    message = _read(_MESSAGES, SignedMessage, raw)
    assert isinstance(message, SignedMessage)
    assert isinstance(message.signature, BitSetSignature)
    if message.signature.signers[:1] == b"\0":
        raise InvalidTx(TxSyntaxReason.INVALID_WARP_MESSAGE, cause="bitset is invalid")
    return message


def parse_payload(raw: bytes) -> WarpPayload:
    """Parse the payload of a message.

    Raises:
        InvalidTx: The bytes are not a payload.
    """
    payload = _read(_PAYLOADS, _PAYLOAD, raw)
    assert isinstance(payload, WarpPayload)
    return payload


def parse_l1_message(raw: bytes) -> L1Message:
    """Parse the content of an addressed call to or from this chain.

    Raises:
        InvalidTx: The bytes are not such a message.
    """
    message = _read(_L1_MESSAGES, _L1_MESSAGE, raw)
    assert isinstance(message, L1Message)
    return message


def build_l1_message(message: L1Message) -> bytes:
    """Return the bytes of an L1 message."""
    return _L1_MESSAGES.marshal(message, _L1_MESSAGE)


def _read(codec: Codec, as_type: object, raw: bytes) -> object:
    try:
        return codec.unmarshal(as_type, raw)
    except CodecError as error:
        raise InvalidTx(TxSyntaxReason.INVALID_WARP_MESSAGE, cause=str(error)) from None
