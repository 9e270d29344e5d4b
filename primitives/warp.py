"""Warp messages between chains: bytes, and the signature of a source's validators (pchain.md 11; etna.md 7).

A message is signed by validators of the subnet that validates the source chain. Their signatures are aggregated to one;
a set of bits names the signers by their place in the canonical order of the subnet's BLS keys. The signed message and
its payload have codecs of their own, each with its own type IDs.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from primitives import bls
from primitives.bls import BlsError
from primitives.codec import INTERFACE, U32, Blob, Codec, FixedLayout
from primitives.hashing import sha256
from primitives.ids import ID
from primitives.reasons import ErrorWithReason
from primitives.uint64 import MAX

MAX_PAYLOAD_SIZE: Final = 24 * 1024
QUORUM_NUMERATOR: Final = 67
QUORUM_DENOMINATOR: Final = 100
"""Two thirds of the weight must have signed, unless the receiver's rules say otherwise."""


class WarpReason(StrEnum):
    """Why the signature of a message does not hold."""

    WRONG_NETWORK_ID = "wrong networkID"
    INVALID_BIT_SET = "bitset is invalid"
    UNKNOWN_VALIDATOR = (
        "unknown validator: NumIndices ({highest}) >= NumFilteredValidators ({count})"
    )
    INSUFFICIENT_WEIGHT = (
        "signature weight is insufficient: {numerator}*{total} > {denominator}*{signed}"
    )
    MALFORMED_SIGNATURE = "failed to parse signature: {cause}"
    NO_SIGNERS = "no public keys"
    INVALID_SIGNATURE = "signature is invalid"
    WEIGHT_OVERFLOW = "weight overflowed"


class WarpError(ErrorWithReason):
    """A message whose signature does not hold."""


class WarpSignature:
    """Interface: the signature of a message."""


class WarpPayload:
    """Interface: the content of a message."""


@dataclass(frozen=True, slots=True)
class BitSetSignature(WarpSignature):
    """An aggregate BLS signature, and a bit for each validator of the source's subnet."""

    signers: Blob
    """A big-endian number without leading zero bytes; its lowest bit is the first validator in canonical order."""
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
    def raw(self) -> bytes:
        """The bytes that validators sign."""
        return _MESSAGES.marshal(self)

    @property
    def message_id(self) -> ID:
        """The sha256 hash of its bytes."""
        return ID(sha256(self.raw))


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """A message and its signature."""

    message: UnsignedMessage
    signature: Annotated[WarpSignature, INTERFACE]

    @property
    def bits(self) -> BitSetSignature:
        """The signature: there is no other kind."""
        assert isinstance(self.signature, BitSetSignature)
        return self.signature

    @property
    def signer_count(self) -> int:
        """The number of validators that have signed."""
        return self.bits.signer_count


@dataclass(frozen=True, slots=True)
class HashPayload(WarpPayload):
    """A payload that is only a hash, such as that of an accepted block."""

    hash: ID


@dataclass(frozen=True, slots=True)
class AddressedCall(WarpPayload):
    """Bytes from an address on the source chain."""

    source_address: Blob
    payload: Blob


_MESSAGES = Codec({0: BitSetSignature})
_PAYLOADS = Codec({0: HashPayload, 1: AddressedCall}, max_size=MAX_PAYLOAD_SIZE)
_PAYLOAD = Annotated[WarpPayload, INTERFACE]


def parse_unsigned(raw: bytes) -> UnsignedMessage:
    """Parse a message without its signature. Raises `CodecError`."""
    return _MESSAGES.unmarshal(UnsignedMessage, raw)


def parse_signed(raw: bytes) -> SignedMessage:
    """Parse a signed message.

    Raises:
        CodecError: The bytes are not a signed message.
        WarpError: The signers' bits have a leading zero byte.
    """
    message = _MESSAGES.unmarshal(SignedMessage, raw)
    if message.bits.signers[:1] == b"\0":
        raise WarpError(WarpReason.INVALID_BIT_SET)
    return message


def build_signed(message: UnsignedMessage, signers: int, signature: bytes) -> bytes:
    """Return the bytes of a signed message; `signers` has one bit for each signer."""
    size = (signers.bit_length() + 7) // 8
    bits = BitSetSignature(signers.to_bytes(size, "big"), signature)
    return _MESSAGES.marshal(SignedMessage(message, bits))


def parse_payload(raw: bytes) -> WarpPayload:
    """Parse the payload of a message. Raises `CodecError`."""
    payload = _PAYLOADS.unmarshal(_PAYLOAD, raw)
    assert isinstance(payload, WarpPayload)
    return payload


def build_payload(payload: WarpPayload) -> bytes:
    """Return the bytes of a payload. Raises `CodecError` if it is too large."""
    return _PAYLOADS.marshal(payload, _PAYLOAD)


class CanonicalValidator(NamedTuple):
    """A BLS key, and the weight of all validators that have it."""

    public_key: bytes
    weight: int


class CanonicalSet(NamedTuple):
    """The validators of a subnet in the order in which bits name them."""

    validators: tuple[CanonicalValidator, ...]
    total_weight: int
    """The weight of all validators, also those without a key."""


def canonical_set(members: Iterable[tuple[bytes | None, int]]) -> CanonicalSet:
    """Return the canonical set of validators, given by BLS key (48 bytes) and weight.

    Raises:
        WarpError: The sum of the weights does not fit into 64 bits.
    """
    weights: dict[bytes, int] = defaultdict(int)
    total = 0
    for public_key, weight in members:
        total += weight
        if public_key is not None:
            weights[public_key] += weight
    if total > MAX:
        raise WarpError(WarpReason.WEIGHT_OVERFLOW)
    ordered = sorted(weights, key=_uncompressed_order)
    return CanonicalSet(tuple(CanonicalValidator(key, weights[key]) for key in ordered), total)


def verify_message(
    signed: SignedMessage,
    network_id: int,
    validators: CanonicalSet,
    *,
    numerator: int = QUORUM_NUMERATOR,
    denominator: int = QUORUM_DENOMINATOR,
) -> None:
    """Check that enough validators have signed a message.

    Args:
        signed: The message, as `parse_signed` returned it.
        network_id: This network's ID.
        validators: The validators of the source chain's subnet.
        numerator: With `denominator` the share of the weight that must have signed.
        denominator: See `numerator`.

    Raises:
        WarpError: The signature does not hold; the reason says why.
    """
    if signed.message.network_id != network_id:
        raise WarpError(WarpReason.WRONG_NETWORK_ID)
    bits = int.from_bytes(signed.bits.signers, "big")
    count = len(validators.validators)
    if bits.bit_length() > count:
        raise WarpError(WarpReason.UNKNOWN_VALIDATOR, highest=bits.bit_length() - 1, count=count)
    named = [item for place, item in enumerate(validators.validators) if bits >> place & 1]
    signed_weight = sum(item.weight for item in named)
    if numerator * validators.total_weight > denominator * signed_weight:
        raise WarpError(
            WarpReason.INSUFFICIENT_WEIGHT,
            numerator=numerator,
            total=validators.total_weight,
            denominator=denominator,
            signed=signed_weight,
        )
    if not bls.is_signature(signed.bits.signature):
        raise WarpError(WarpReason.MALFORMED_SIGNATURE, cause="couldn't decompress signature")
    if not named:
        raise WarpError(WarpReason.NO_SIGNERS)
    try:
        key = bls.aggregate_public_keys([item.public_key for item in named])
    except BlsError as error:
        raise WarpError(WarpReason.INVALID_SIGNATURE) from error
    if not bls.verify(key, signed.message.raw, signed.bits.signature):
        raise WarpError(WarpReason.INVALID_SIGNATURE)


def _uncompressed_order(key: bytes) -> tuple[bytes, int]:
    """Return what sorts compressed keys as their uncompressed form: x without the flags, then the sign of y."""
    return bytes([key[0] & 0x1F]) + key[1:], key[0] & 0x20
