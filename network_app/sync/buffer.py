"""Blocks that came and cannot be accepted yet: their parents, or their options, are missing. Pure."""

from collections.abc import Collection
from dataclasses import dataclass, field

from network_app.ports import ParsedBlock
from primitives.ids import ID, NodeID

MOST_BLOCKS = 1024
MOST_BYTES = 16 * 1024 * 1024
DEEPEST = 2
"""Of unsigned blocks that may follow each other: the first block, if it is a proposal, and its option."""
LONGEST_WAIT = 60.0
"""Seconds after which a block that never connected is forgotten."""


@dataclass(frozen=True, slots=True)
class Held:
    """A block that waits."""

    block: ParsedBlock
    sender: NodeID
    since: float
    """Seconds of the caller's clock."""
    signed: bool = False
    """Whether one of those who make blocks has signed it, which is verified."""
    tellers: set[NodeID] = field(default_factory=set)
    """Those who make blocks that told of it over their own connections."""


class Buffer:
    """Waiting blocks by ID. When it is full, whoever takes most of the room loses its highest one.

    What nobody vouches for gives way first.
    """

    def __init__(self, most_blocks: int = MOST_BLOCKS, most_bytes: int = MOST_BYTES) -> None:
        self._most_blocks = most_blocks
        self._most_bytes = most_bytes
        self._held: dict[ID, Held] = {}
        self._children: dict[ID, list[ID]] = {}
        self.size = 0
        """Bytes."""

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, block_id: ID) -> bool:
        return block_id in self._held

    def add(self, block: ParsedBlock, sender: NodeID, now: float, *, signed: bool = False) -> bool:
        """Keep a block until it can be accepted; False when it is here already or there is no room."""
        if block.block_id in self._held:
            return False
        self._held[block.block_id] = Held(block, sender, now, signed)
        self._children.setdefault(block.parent_id, []).append(block.block_id)
        self.size += len(block.raw)
        while len(self._held) > self._most_blocks or self.size > self._most_bytes:
            self._evict()
        return block.block_id in self._held

    def tell(self, block_id: ID, producer: NodeID) -> bool:
        """Note that one who makes blocks told of a block; False when that is not new, or it is not here."""
        held = self._held.get(block_id)
        if held is None or producer in held.tellers:
            return False
        held.tellers.add(producer)
        return True

    def run_after(self, block_id: ID, count: int) -> list[Held]:
        """Return blocks that follow a block and each other, in order.

        Ends before a proposal whose option is not here, and before what nobody vouches for. Of several
        children the first to come counts.
        """
        found: list[Held] = []
        while (child := self._next(block_id, found[-1] if found else None)) is not None:
            block_id = child.block.block_id
            found.append(child)
            if len(found) >= count and not child.block.needs_option:
                break
        if found and found[-1].block.needs_option:
            found.pop()
        return found

    def lacks_word(self, block_id: ID) -> bool:
        """Say whether something follows a block that only a word of who makes blocks could settle."""
        children = [self._held[child] for child in self._children.get(block_id, ())]
        options = [
            (self._held[option], child)
            for child in children
            if child.block.needs_option
            for option in self._children.get(child.block.block_id, ())
        ]
        first = [(child, None) for child in children]
        return not all(self._is_vouched_for(held, parent) for held, parent in (*first, *options))

    def undecided(self) -> list[Held]:
        """Return the blocks that one of those who make them has signed."""
        return [held for held in self._held.values() if held.signed]

    def roots(self) -> list[Held]:
        """Return the blocks whose parents are not here, lowest first."""
        found = [
            self._held[child]
            for parent_id, children in self._children.items()
            if parent_id not in self._held
            for child in children
        ]
        return sorted(found, key=lambda held: held.block.height)

    def forget_up_to(self, height: int) -> None:
        """Forget the blocks at and below a height: they are accepted, or never will be."""
        for held in [one for one in self._held.values() if one.block.height <= height]:
            self._remove(held)

    def forget_since(self, since: float) -> None:
        """Forget the blocks that came before a time."""
        for held in [one for one in self._held.values() if one.since < since]:
            self._remove(held)

    def drop(self, block_id: ID) -> Held | None:
        """Forget a block and all that follow it; return it."""
        dropped = self._held.get(block_id)
        below = [block_id]
        while below:
            held = self._held.get(below.pop())
            if held is not None:
                below.extend(self._children.get(held.block.block_id, ()))
                self._remove(held)
        return dropped

    def clear(self) -> None:
        """Forget all."""
        self._held.clear()
        self._children.clear()
        self.size = 0

    def _next(self, block_id: ID, parent: Held | None) -> Held | None:
        """Return the first child of a block for which somebody vouches."""
        children = (self._held[child] for child in self._children.get(block_id, ()))
        return next((held for held in children if self._is_vouched_for(held, parent)), None)

    def _is_vouched_for(self, held: Held, parent: Held | None, depth: int = DEEPEST) -> bool:
        """Say whether a block is signed, told by whom it takes (`ports.Chain.accept`), or before one."""
        if held.block.proposer is not None:
            return True
        makers = parent.block.proposer if parent is not None and parent.block.needs_option else None
        if held.tellers if makers is None else makers in held.tellers:
            return True
        children = self._children.get(held.block.block_id, ()) if depth else ()
        return any(self._is_vouched_for(self._held[child], held, depth - 1) for child in children)

    def _evict(self) -> None:
        all_held = self._held.values()
        doubtful = [held for held in all_held if not held.signed and not held.tellers]
        by_sender: dict[NodeID, list[Held]] = {}
        for held in doubtful or all_held:
            by_sender.setdefault(held.sender, []).append(held)
        greediest = max(by_sender.values(), key=self._part)
        self._remove(max(greediest, key=lambda held: held.block.height))

    def _part(self, blocks: Collection[Held]) -> float:
        """Return which part of the room blocks take, by number or by bytes."""
        size = sum(len(held.block.raw) for held in blocks)
        return max(len(blocks) / self._most_blocks, size / self._most_bytes)

    def _remove(self, held: Held) -> None:
        block = held.block
        del self._held[block.block_id]
        siblings = self._children[block.parent_id]
        siblings.remove(block.block_id)
        if not siblings:
            del self._children[block.parent_id]
        self.size -= len(block.raw)
