"""Blocks as values, their conversion from and to bytes, and their JSON form (pchain.md 3.1, 4).

    Block
    ├── StandardBlock   ApricotStandardBlock 3 · BanffStandardBlock 32
    ├── ProposalBlock   ApricotProposalBlock 0 · BanffProposalBlock 29
    ├── OptionBlock
    │   ├── CommitBlock ApricotCommitBlock 2 · BanffCommitBlock 31
    │   └── AbortBlock  ApricotAbortBlock 1 · BanffAbortBlock 30
    └── ApricotAtomicBlock 4

Apricot blocks have no timestamp. This chain builds Banff blocks, on top of a genesis block that is
an ApricotCommitBlock. Create blocks with the functions of this module, because `raw` must match the fields.
The transactions in a block have no codec version of their own; they keep their bytes, so their IDs
are computed without serialising them again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from platform_app.txs.base import Tx
from platform_app.txs.codec import CODEC, TYPES, embed, parse_embedded
from platform_app.txs.render import render_tx
from primitives.codec import DEFAULT_MAX_SIZE, U32, U64, VERSION
from primitives.codec_errors import CodecError, CodecReason
from primitives.hashing import sha256
from primitives.ids import ID
from utxo.rendering import Addresses, Json

_HEAD = len(VERSION) + 4
"""Bytes of codec version and type ID, before the fields."""

AnyBlock = TypeVar("AnyBlock", bound="Block")


@dataclass(frozen=True)
class Block:
    """A block; `time` is in Unix seconds, None in Apricot blocks.

    `txs` are the decision transactions; `proposal` is the transaction that a proposal block's options decide.
    """

    TYPE_ID: ClassVar[int]
    LAYOUT: ClassVar[tuple[str, ...]]
    """The fields in the order in which they are serialised."""

    raw: bytes
    parent_id: ID
    height: int
    time: int | None = None
    txs: tuple[Tx, ...] = ()
    proposal: Tx | None = None

    @cached_property
    def block_id(self) -> ID:
        """The sha256 hash of its bytes."""
        return ID(sha256(self.raw))


class StandardBlock(Block):
    """Decision transactions, executed in order."""


class ProposalBlock(Block):
    """A transaction that one of two children commits or aborts, preceded by decision transactions."""


class OptionBlock(Block):
    """A child of a proposal block."""


class CommitBlock(OptionBlock):
    """The proposal is executed."""


class AbortBlock(OptionBlock):
    """The proposal is not executed."""


class ApricotProposalBlock(ProposalBlock):
    """A proposal before Banff."""

    TYPE_ID = 0
    LAYOUT = ("parent_id", "height", "proposal")


class ApricotAbortBlock(AbortBlock):
    """An abort block before Banff."""

    TYPE_ID = 1
    LAYOUT = ("parent_id", "height")


class ApricotCommitBlock(CommitBlock):
    """A commit block before Banff; the genesis block is one."""

    TYPE_ID = 2
    LAYOUT = ("parent_id", "height")


class ApricotStandardBlock(StandardBlock):
    """Decisions before Banff."""

    TYPE_ID = 3
    LAYOUT = ("parent_id", "height", "txs")


class ApricotAtomicBlock(Block):
    """One transfer from or to another chain, before Apricot phase 5."""

    TYPE_ID = 4
    LAYOUT = ("parent_id", "height", "tx")

    @property
    def tx(self) -> Tx:
        """The transfer."""
        return self.txs[0]


class BanffProposalBlock(ProposalBlock):
    """A proposal since Banff."""

    TYPE_ID = 29
    LAYOUT = ("time", "txs", "parent_id", "height", "proposal")


class BanffAbortBlock(AbortBlock):
    """The child of a proposal that aborts it."""

    TYPE_ID = 30
    LAYOUT = ("time", "parent_id", "height")


class BanffCommitBlock(CommitBlock):
    """The child of a proposal that commits it."""

    TYPE_ID = 31
    LAYOUT = ("time", "parent_id", "height")


class BanffStandardBlock(StandardBlock):
    """Decision transactions since Banff."""

    TYPE_ID = 32
    LAYOUT = ("time", "parent_id", "height", "txs")


BLOCK_TYPES: dict[int, type[Block]] = {
    cls.TYPE_ID: cls
    for cls in (
        ApricotProposalBlock,
        ApricotAbortBlock,
        ApricotCommitBlock,
        ApricotStandardBlock,
        ApricotAtomicBlock,
        BanffProposalBlock,
        BanffAbortBlock,
        BanffCommitBlock,
        BanffStandardBlock,
    )
}


def parse_block(raw: bytes) -> Block:
    """Parse a block.

    Raises:
        CodecError: The bytes are not a block.
    """
    cls = _type_of(raw)
    fields: dict[str, Any] = {}
    offset = _HEAD
    for name in cls.LAYOUT:
        fields[name], offset = _READERS[name](raw, offset)
    if offset != len(raw):
        raise CodecError(CodecReason.TRAILING_BYTES, read=offset, provided=len(raw))
    if "tx" in fields:
        fields["txs"] = (fields.pop("tx"),)
    return cls(raw=raw, **fields)


def build_standard(
    *, parent_id: ID, height: int, time: int, txs: Sequence[Tx]
) -> BanffStandardBlock:
    """Create a block of decision transactions."""
    return _build(BanffStandardBlock, parent_id=parent_id, height=height, time=time, txs=tuple(txs))


def build_proposal(
    *, parent_id: ID, height: int, time: int, proposal: Tx, txs: Sequence[Tx] = ()
) -> BanffProposalBlock:
    """Create a block that proposes a transaction, preceded by decision transactions."""
    return _build(
        BanffProposalBlock,
        parent_id=parent_id,
        height=height,
        time=time,
        txs=tuple(txs),
        proposal=proposal,
    )


def build_options(proposal: ProposalBlock) -> tuple[BanffCommitBlock, BanffAbortBlock]:
    """Create the two children of a proposal block. They are the same on every node."""
    place: dict[str, Any] = {
        "parent_id": proposal.block_id,
        "height": proposal.height + 1,
        "time": proposal.time,
    }
    return _build(BanffCommitBlock, **place), _build(BanffAbortBlock, **place)


def genesis_block(genesis_bytes: bytes) -> ApricotCommitBlock:
    """Create the block of height 0, whose parent is the hash of the genesis bytes."""
    return genesis_block_of(ID(sha256(genesis_bytes)))


def genesis_block_of(genesis_id: ID) -> ApricotCommitBlock:
    """Create the block of height 0 from the hash of the genesis bytes."""
    return _build(ApricotCommitBlock, parent_id=genesis_id, height=0)


def _build(cls: type[AnyBlock], **fields: Any) -> AnyBlock:
    head = VERSION + CODEC.pack(cls.TYPE_ID, U32)
    raw = head + b"".join(_WRITERS[name](fields[name]) for name in cls.LAYOUT)
    return cls(raw=raw, **fields)


def _type_of(raw: bytes) -> type[Block]:
    if len(raw) > DEFAULT_MAX_SIZE:
        raise CodecError(CodecReason.INPUT_TOO_LARGE, size=len(raw), limit=DEFAULT_MAX_SIZE)
    version = raw[: len(VERSION)]
    if len(version) < len(VERSION):
        raise CodecError(CodecReason.MISSING_VERSION)
    if version != VERSION:
        raise CodecError(CodecReason.UNKNOWN_VERSION)
    if len(raw) < _HEAD:
        raise CodecError(CodecReason.MISSING_TYPE_ID)
    type_id = int.from_bytes(raw[len(VERSION) : _HEAD], "big")
    if type_id in BLOCK_TYPES:
        return BLOCK_TYPES[type_id]
    if type_id in TYPES:
        raise CodecError(
            CodecReason.WRONG_INTERFACE, type=TYPES[type_id].__name__, interface=Block.__name__
        )
    raise CodecError(CodecReason.UNKNOWN_TYPE_ID, type_id=type_id)


def _read_txs(raw: bytes, offset: int) -> tuple[tuple[Tx, ...], int]:
    count, offset = CODEC.read(U32, raw, offset)
    txs = []
    # the count is untrusted: parsing fails at the end of the bytes
    for _ in range(count):
        tx, offset = parse_embedded(raw, offset)
        txs.append(tx)
    return tuple(txs), offset


def _pack_txs(txs: Sequence[Tx]) -> bytes:
    return CODEC.pack(len(txs), U32) + b"".join(map(embed, txs))


_READERS: Mapping[str, Callable[[bytes, int], tuple[Any, int]]] = {
    "time": lambda raw, offset: CODEC.read(U64, raw, offset),
    "height": lambda raw, offset: CODEC.read(U64, raw, offset),
    "parent_id": lambda raw, offset: CODEC.read(ID, raw, offset),
    "txs": _read_txs,
    "tx": parse_embedded,
    "proposal": parse_embedded,
}
_WRITERS: Mapping[str, Callable[[Any], bytes]] = {
    "time": lambda time: CODEC.pack(time, U64),
    "height": lambda height: CODEC.pack(height, U64),
    "parent_id": bytes,
    "txs": _pack_txs,
    "proposal": embed,
}


def render_block(block: Block, addresses: Addresses) -> Json:
    """Return a block as JSON: the fields of its type, and its ID."""
    shown: Json = {}
    for name in block.LAYOUT:
        key, render = _SHAPES[name]
        shown[key] = render(block, addresses)
        if name == "height":
            shown["id"] = str(block.block_id)
    return shown


_SHAPES: dict[str, tuple[str, Callable[[Any, Addresses], Any]]] = {
    "time": ("time", lambda block, _: block.time),
    "height": ("height", lambda block, _: block.height),
    "parent_id": ("parentID", lambda block, _: str(block.parent_id)),
    "txs": ("txs", lambda block, addresses: [render_tx(tx, addresses) for tx in block.txs]),
    "tx": ("tx", lambda block, addresses: render_tx(block.tx, addresses)),
    "proposal": ("tx", lambda block, addresses: render_tx(block.proposal, addresses)),
}
