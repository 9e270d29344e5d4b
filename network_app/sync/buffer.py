"""Blocks that came and cannot be accepted yet: their parents, or their options, are missing. Pure."""

from collections import Counter
from dataclasses import dataclass

from network_app.ports import ParsedBlock
from primitives.ids import ID, NodeID

MOST_BLOCKS = 1024
MOST_BYTES = 16 * 1024 * 1024
LONGEST_WAIT = 60.0
"""Seconds after which a block that never connected is forgotten."""


@dataclass(frozen=True, slots=True)
class Held:
    """A block that waits."""

    block: ParsedBlock
    sender: NodeID
    since: float
    """Seconds of the caller's clock."""


class Buffer:
    """Waiting blocks by ID. When it is full, whoever sent most of them loses its highest one."""

    def __init__(self, most_blocks: int = MOST_BLOCKS, most_bytes: int = MOST_BYTES) -> None:
        self._most_blocks = most_blocks
        self._most_bytes = most_bytes
        self._held: dict[ID, Held] = {}
        self._children: dict[ID, list[ID]] = {}
        self._senders: Counter[NodeID] = Counter()
        self.size = 0
        """Bytes."""

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, block_id: ID) -> bool:
        return block_id in self._held

    def add(self, block: ParsedBlock, sender: NodeID, now: float) -> bool:
        """Keep a block until it can be accepted; False when it is here already or there is no room."""
        if block.block_id in self._held:
            return False
        self._held[block.block_id] = Held(block, sender, now)
        self._children.setdefault(block.parent_id, []).append(block.block_id)
        self._senders[sender] += 1
        self.size += len(block.raw)
        while len(self._held) > self._most_blocks or self.size > self._most_bytes:
            self._evict()
        return block.block_id in self._held

    def run_after(self, block_id: ID, count: int) -> list[Held]:
        """Return blocks that follow a block and each other, in order.

        Ends before a proposal whose option is not here. Of several children the first to come counts.
        """
        found: list[Held] = []
        while children := self._children.get(block_id):
            block_id = children[0]
            found.append(self._held[block_id])
            if len(found) >= count and not found[-1].block.needs_option:
                break
        if found and found[-1].block.needs_option:
            found.pop()
        return found

    def roots(self) -> list[Held]:
        """Return the blocks whose parents are not here, lowest first."""
        found = [
            self._held[child]
            for parent_id, children in self._children.items()
            if parent_id not in self._held
            for child in children
        ]
        return sorted(found, key=lambda held: held.block.height)

    def oldest(self) -> float | None:
        """Return since when the block that waits longest is here."""
        return min((held.since for held in self._held.values()), default=None)

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
        self._senders.clear()
        self.size = 0

    def _evict(self) -> None:
        ((greediest, _),) = self._senders.most_common(1)
        self._remove(
            max(
                (held for held in self._held.values() if held.sender == greediest),
                key=lambda held: held.block.height,
            )
        )

    def _remove(self, held: Held) -> None:
        block = held.block
        del self._held[block.block_id]
        siblings = self._children[block.parent_id]
        siblings.remove(block.block_id)
        if not siblings:
            del self._children[block.parent_id]
        self._senders[held.sender] -= 1
        if not self._senders[held.sender]:
            del self._senders[held.sender]
        self.size -= len(block.raw)
