"""Outer blocks: parsing and encoding (p2p.md 11.1).

    OuterBlock
    ├── SignedBlock     type 0, or type 2 if it has an epoch; may be unsigned
    └── OptionBlock     type 1: commit or abort of a proposal, the same from every node

Create blocks with the functions of this module, so that `raw` and `outer_id` match the other fields. The
inner block is an opaque block of the chain. `verification` checks whether a block may follow another.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from typing_extensions import override

from network_app.proposervm.epochs import NO_EPOCH, Epoch
from network_app.proposervm.errors import (
    NotAnOuterBlock,
    OuterBlockError,
    OuterBlockReason,
)
from network_app.proposervm.layout import (
    LENGTH,
    Option,
    WithEpoch,
    WithoutEpoch,
    encode,
    header,
    proposer_of,
    read,
)
from primitives.hashing import sha256
from primitives.identity import PrivateKey, sign
from primitives.ids import ID, NodeID

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class OuterBlock(ABC):
    """A block as peers exchange it."""

    raw: bytes
    outer_id: ID
    """The block ID that peers use."""
    parent_id: ID
    """The outer parent; the parent of the first outer block is the bare genesis block."""
    inner: bytes
    """Bytes of the inner block, which is the chain's own block."""

    @property
    @abstractmethod
    def kind(self) -> int:
        """The type ID: 0, 1 or 2."""


@dataclass(frozen=True, slots=True)
class SignedBlock(OuterBlock):
    """A block with a timestamp, signed or unsigned."""

    time: int
    """Unix seconds."""
    p_chain_height: int
    """P-Chain height whose validators own the slots of this block's children."""
    epoch: Epoch | None
    certificate: bytes
    """DER; empty if the block is unsigned."""
    signature: bytes
    proposer: NodeID | None
    """The signer according to the certificate."""

    @property
    @override
    def kind(self) -> int:
        return 0 if self.epoch is None else 2


@dataclass(frozen=True, slots=True)
class OuterOptionBlock(OuterBlock):
    """A block that follows from its parent, and is therefore never signed."""

    @property
    @override
    def kind(self) -> int:
        return 1


def parse(raw: bytes) -> OuterBlock:
    """Parse an outer block. The signer is read from the certificate; the signature is not verified here.

    Raises:
        NotAnOuterBlock: The bytes have another layout; they may be a bare block.
        OuterBlockError: It breaks a rule of the layout, or nodes do not use such certificates. Unspecified: a P-Chain
            height and an epoch's number have at most 63 bits; no chain reaches a larger number, and database columns
            cannot hold it.
    """
    try:
        layout = read(raw)
    except NotAnOuterBlock:
        if _is_cut_off(raw):
            raise OuterBlockError(OuterBlockReason.CUT_OFF) from None
        raise
    if isinstance(layout, Option):
        return OuterOptionBlock(raw, ID(sha256(raw)), layout.parent_id, layout.inner)
    _verify_numbers(layout)
    return _signed_block(raw, layout, _proposer(layout))


def build_signed(
    parent_id: ID,
    time: int,
    p_chain_height: int,
    epoch: Epoch | None,
    inner: bytes,
    *,
    chain_id: ID,
    certificate: bytes,
    key: PrivateKey,
) -> SignedBlock:
    """Build a block and sign it; `certificate` is the key's certificate in DER.

    Raises:
        OuterBlockError: Nodes do not accept such certificates from each other.
        CodecError: A number does not fit into its field.
    """
    unsigned = encode_signed(parent_id, time, p_chain_height, epoch, inner, certificate=certificate)
    outer_id = _unsigned_id(unsigned, b"")
    signature = sign(key, header(chain_id, parent_id, outer_id))
    raw = unsigned[:-LENGTH] + len(signature).to_bytes(LENGTH, "big") + signature
    proposer = proposer_of(certificate)
    return SignedBlock(
        raw, outer_id, parent_id, inner, time, p_chain_height, epoch, certificate, signature, proposer
    )  # fmt: skip


def build_unsigned(
    parent_id: ID, time: int, p_chain_height: int, epoch: Epoch | None, inner: bytes
) -> SignedBlock:
    """Build an unsigned block.

    Raises:
        CodecError: A number does not fit into its field.
    """
    raw = encode_signed(parent_id, time, p_chain_height, epoch, inner)
    outer_id = _unsigned_id(raw, b"")
    return SignedBlock(
        raw, outer_id, parent_id, inner, time, p_chain_height, epoch, b"", b"", None
    )  # fmt: skip


def build_option(parent_id: ID, inner: bytes) -> OuterOptionBlock:
    """Build the outer block of an option."""
    raw = encode_option(parent_id, inner)
    return OuterOptionBlock(raw, ID(sha256(raw)), parent_id, inner)


def encode_signed(
    parent_id: ID,
    time: int,
    p_chain_height: int,
    epoch: Epoch | None,
    inner: bytes,
    *,
    certificate: bytes = b"",
    signature: bytes = b"",
) -> bytes:
    """Return the bytes of a block from its fields, including a given signature; verify nothing.

    Raises:
        CodecError: A number does not fit into its field.
    """
    layout = (
        WithoutEpoch(parent_id, time, p_chain_height, certificate, inner, signature)
        if epoch is None
        else WithEpoch(parent_id, time, p_chain_height, certificate, inner, epoch, signature)
    )
    return encode(layout)


def encode_option(parent_id: ID, inner: bytes) -> bytes:
    """Return the bytes of an option block."""
    return encode(Option(parent_id, inner))


def _is_cut_off(raw: bytes) -> bool:
    """Return whether the bytes are a block that lacks only its signature field."""
    try:
        return not isinstance(read(raw + bytes(LENGTH)), Option)
    except NotAnOuterBlock:
        return False


def _verify_numbers(layout: WithoutEpoch | WithEpoch) -> None:
    numbers = [layout.p_chain_height]
    if layout.epoch is not None:
        if layout.epoch == NO_EPOCH:
            raise OuterBlockError(OuterBlockReason.ZERO_EPOCH)
        numbers += [layout.epoch.p_chain_height, layout.epoch.number]
    if max(numbers) > _LARGEST:
        raise OuterBlockError(OuterBlockReason.HEIGHT_TOO_LARGE, number=max(numbers))


def _proposer(layout: WithoutEpoch | WithEpoch) -> NodeID | None:
    if not layout.certificate:
        if layout.signature:
            raise OuterBlockError(OuterBlockReason.UNEXPECTED_SIGNATURE)
        return None
    if not layout.signature:
        raise OuterBlockError(OuterBlockReason.MISSING_SIGNATURE)
    return proposer_of(layout.certificate)


def _signed_block(
    raw: bytes, layout: WithoutEpoch | WithEpoch, proposer: NodeID | None
) -> SignedBlock:
    return SignedBlock(
        raw,
        _unsigned_id(raw, layout.signature),
        layout.parent_id,
        layout.inner,
        layout.time,
        layout.p_chain_height,
        layout.epoch,
        layout.certificate,
        layout.signature,
        proposer,
    )


def _unsigned_id(raw: bytes, signature: bytes) -> ID:
    """Return the hash of all bytes but the signature and its length, which come last."""
    return ID(sha256(raw[: -LENGTH - len(signature)]))
