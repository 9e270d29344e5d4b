"""Byte layout of outer blocks: version, type ID, fields of the linear codec (p2p.md 11.1)."""

from dataclasses import dataclass
from typing import Annotated, TypeAlias, cast

from network_app.proposervm.epochs import I64, Epoch
from network_app.proposervm.errors import NotAnOuterBlock, OuterBlockReason
from primitives.codec import INTERFACE, U64, Blob, Codec
from primitives.codec_errors import CodecError
from primitives.ids import ID

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
