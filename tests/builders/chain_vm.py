"""A chain of trivial blocks behind the VM port, for tests of the layers around a VM.

A block is its parent's ID, its height, a kind and a text. Blocks with the text "invalid" are rejected. The
pool contains texts; a proposal is a block with the kind of a proposal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from chainvm.errors import InvalidBlock, NotYetValid
from chainvm.port import BlockContext, Written
from chainvm.processing import ProcessingTree
from network_app.proposervm.block import OuterBlock, SignedBlock, parse
from network_app.proposervm.verification import InnerContext, ParentContext, follow, of_genesis
from network_app.proposervm.vm import ProposerBlock
from primitives.hashing import sha256
from primitives.ids import EMPTY_ID, ID

PLAIN, PROPOSAL, COMMIT, ABORT = range(4)


class InvalidTextBlock(InvalidBlock):
    """The chain rejects a block."""


class TextBlockTooEarly(InvalidTextBlock, NotYetValid):
    """The chain cannot verify a block yet."""


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A block of the chain."""

    parent_id: ID
    height: int
    kind: int
    text: str

    @property
    def raw(self) -> bytes:
        return (
            bytes(self.parent_id)
            + self.height.to_bytes(8, "big")
            + bytes([self.kind])
            + self.text.encode()
        )

    @property
    def block_id(self) -> ID:
        return ID(sha256(self.raw))


GENESIS = TextBlock(EMPTY_ID, 0, PLAIN, "genesis")


def text_block(parent: TextBlock, text: str, kind: int = PLAIN) -> TextBlock:
    """Return a child of a block."""
    return TextBlock(parent.block_id, parent.height + 1, kind, text)


@dataclass
class TextVM:
    """A VM that keeps everything in memory. A restart finds the blocks in `accepted`."""

    accepted: list[TextBlock] = field(default_factory=lambda: [GENESIS])
    waiting: list[str] = field(default_factory=list)
    """Texts for blocks; a text stays until a block with it is accepted."""
    verified: list[ID] = field(default_factory=list)
    """In order of verification; a block that was really executed several times appears as often."""
    contexts: list[BlockContext] = field(default_factory=list)
    """Those with which blocks were built or verified."""
    fails: bool = False
    """Whether commits fail."""
    unknown: set[str] = field(default_factory=set)
    """Texts that cannot be verified yet, as an import whose export this node has not accepted."""
    due: int | None = 0
    """The Unix milliseconds from which the chain's rules allow a block; None: never."""

    def __post_init__(self) -> None:
        self.tree: ProcessingTree[TextBlock, None] = ProcessingTree(
            self.accepted[-1].block_id, None
        )

    def last_accepted(self) -> ID:
        return self.tree.last_accepted

    def get_block(self, block_id: ID) -> TextBlock | None:
        found = self.tree.get(block_id)
        return found or next((item for item in self.accepted if item.block_id == block_id), None)

    def get_block_id_at_height(self, height: int) -> ID | None:
        return self.accepted[height].block_id if height < len(self.accepted) else None

    def parse(self, raw: bytes) -> TextBlock:
        if len(raw) < 41 or raw[40] > ABORT:
            raise InvalidTextBlock("no block")
        height = int.from_bytes(raw[32:40], "big")
        return TextBlock(ID(raw[:32]), height, raw[40], raw[41:].decode())

    def build(self, context: BlockContext, *, allow_empty: bool = False) -> TextBlock | None:
        """Build a block of the first pending text that no undecided ancestor contains; None also before `due`."""
        del allow_empty
        if self.due is None or context.milliseconds < self.due:
            return None
        parent = self.get_block(self.tree.preference)
        assert parent is not None
        included = {item.text for item in self.tree.branch(parent.block_id)} | self.unknown
        text = next((pending for pending in self.waiting if pending not in included), None)
        if text is None:
            return None
        block = text_block(parent, text, PROPOSAL if text.startswith("proposal") else PLAIN)
        self.verify(block, context)
        return block

    def builds_from(self, milliseconds: int) -> int | None:
        return None if self.due is None else max(milliseconds, self.due)

    def verify(self, block: TextBlock, context: BlockContext) -> None:
        self.contexts.append(context)
        if block.block_id in self.tree:
            return
        self.verified.append(block.block_id)
        if block.text in self.unknown:
            raise TextBlockTooEarly("the export is not accepted yet")
        if block.text == "invalid":
            raise InvalidTextBlock("the text is invalid")
        self.tree.add(block, None)

    def verify_all(self, line: Sequence[TextBlock], contexts: Sequence[BlockContext]) -> None:
        with self.tree.all_or_none():
            for block, context in zip(line, contexts, strict=True):
                if block.block_id not in self.tree:
                    self.verify(block, context)

    def options(self, block: TextBlock) -> tuple[TextBlock, TextBlock] | None:
        if block.kind != PROPOSAL:
            return None
        return text_block(block, "", COMMIT), text_block(block, "", ABORT)

    def set_preference(self, block_id: ID) -> None:
        self.tree.prefer(block_id)

    def accept(self, block_ids: Sequence[ID], *, written: Written) -> None:
        """Write blocks one by one, proposals too, after everything that belongs to them is written."""
        blocks = [self.tree.get(block_id) for block_id in block_ids]
        if self.fails:
            self.tree.reset(self.accepted[-1].block_id, None)
            raise OSError("the disk is full")
        for block_id in block_ids:
            written(block_id)
        for block in blocks:
            assert block is not None
            self.tree.accept([block.block_id])
            self.accepted.append(block)
            if block.text in self.waiting:
                self.waiting.remove(block.text)

    def reject(self, block_id: ID) -> None:
        self.tree.reject(block_id)


@dataclass
class OuterBlocksInMemory:
    """The accepted outer blocks of a `TextVM`."""

    inner: TextVM
    blocks: list[OuterBlock] = field(default_factory=list)
    replaced: bool = False
    """Whether another process replaced these blocks since the last call of `was_rewound`."""

    def was_rewound(self) -> bool:
        replaced, self.replaced = self.replaced, False
        return replaced

    def last(self) -> ParentContext:
        facts = of_genesis(GENESIS.block_id, 0)
        for outer, inner in zip(self.blocks, self.inner.accepted[1:], strict=False):
            options = tuple(option.block_id for option in self.inner.options(inner) or ())
            facts = follow(
                facts, outer, InnerContext(inner.block_id, inner.parent_id, inner.height, options)
            )
        return facts

    def id_at(self, height: int) -> ID | None:
        if height == 0:
            return GENESIS.block_id
        return self.blocks[height - 1].outer_id if height <= len(self.blocks) else None

    def raw(self, block_id: ID) -> bytes | None:
        return next((block.raw for block in self.blocks if block.outer_id == block_id), None)

    def write(self, blocks: Sequence[tuple[OuterBlock, int]]) -> None:
        (_, first), *_ = blocks
        del self.blocks[first - 1 :]  # written by a transaction that was rolled back
        for block, height in blocks:
            assert height == len(self.blocks) + 1
            self.blocks.append(parse(block.raw))


def time_of(block: ProposerBlock[TextBlock]) -> int:
    """Return an outer block's time."""
    assert isinstance(block.outer, SignedBlock)
    return block.outer.time
