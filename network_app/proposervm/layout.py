"""The byte layout of outer blocks, their signer, and the message that is signed (p2p.md 11.1).

Layout: version, type ID, fields of the linear codec.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, TypeAlias, cast

from network_app.proposervm.epochs import I64, Epoch
from network_app.proposervm.errors import NotAnOuterBlock, OuterBlockError, OuterBlockReason
from primitives.codec import INTERFACE, U64, VERSION, Blob, Codec
from primitives.codec_errors import CodecError
from primitives.identity import CertificateError, node_id_of, public_key_of, verify
from primitives.ids import ID, NodeID

LENGTH = 4
"""Size of a length prefix in bytes."""

_NO_LIMIT = 2**32
"""No limit of its own: the size of a block is limited by the message that contained it."""


class _Layout:
    """The fields after the type ID."""


@dataclass(frozen=True, slots=True)
class WithoutEpoch(_Layout):
    """Type 0."""

    parent_id: ID
    time: I64
    p_chain_height: U64
    certificate: Blob
    inner: Blob
    signature: Blob

    @property
    def epoch(self) -> Epoch | None:
        """Blocks of this type have no epoch."""
        return None


@dataclass(frozen=True, slots=True)
class Option(_Layout):
    """Type 1."""

    parent_id: ID
    inner: Blob


@dataclass(frozen=True, slots=True)
class WithEpoch(_Layout):
    """Type 2."""

    parent_id: ID
    time: I64
    p_chain_height: U64
    certificate: Blob
    inner: Blob
    epoch: Epoch
    signature: Blob


AnyLayout: TypeAlias = WithoutEpoch | Option | WithEpoch

_CODEC = Codec({0: WithoutEpoch, 1: Option, 2: WithEpoch}, max_size=_NO_LIMIT)
_ANY = Annotated[_Layout, INTERFACE]


def read(raw: bytes) -> AnyLayout:
    """Decode the fields of a block.

    Raises:
        NotAnOuterBlock: The bytes do not have this layout.
    """
    try:
        return cast(AnyLayout, _CODEC.unmarshal(_ANY, raw))
    except CodecError as error:
        raise NotAnOuterBlock(OuterBlockReason.OTHER_LAYOUT, cause=error) from None


def encode(layout: AnyLayout) -> bytes:
    """Return the bytes of a block.

    Raises:
        CodecError: A number does not fit into its field.
    """
    return _CODEC.marshal(layout, _ANY)


_REMEMBERED = 1024
"""Number of certificates whose node ID is cached, because few proposers recur often."""


@lru_cache(maxsize=_REMEMBERED)
def proposer_of(certificate: bytes) -> NodeID:
    """Return the node ID of a certificate (DER).

    Raises:
        OuterBlockError: Nodes do not accept such certificates from each other.
    """
    try:
        public_key_of(certificate)
    except CertificateError as error:
        raise OuterBlockError(OuterBlockReason.INVALID_CERTIFICATE, cause=error) from None
    return node_id_of(certificate)


def header(chain_id: ID, parent_id: ID, outer_id: ID) -> bytes:
    """Return the message that is signed for a block: 98 bytes."""
    return VERSION + chain_id + parent_id + outer_id


def verify_signature(certificate: bytes, message: bytes, signature: bytes) -> None:
    """Verify a signature by the key of a certificate, which comes from a parsed block.

    Raises:
        OuterBlockError: Nodes do not accept such certificates from each other, or the signature is by another key or
            over another message.
    """
    proposer = proposer_of(certificate)
    if not verify(public_key_of(certificate), message, signature):
        raise OuterBlockError(OuterBlockReason.WRONG_SIGNATURE, proposer=proposer)
