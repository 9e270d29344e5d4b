"""Blocks that peers send by themselves: which of them are read, and what they say against ours.

Nobody but who makes blocks has a reason to push them, and reading may be made to cost a lot. So others'
are read only if one of those has signed them, which is seen without reading what is inside.
"""

from collections.abc import Sequence
from typing import NamedTuple

from network_app.ports import InvalidBlock, ParsedBlock
from network_app.sync.choosing import Choice
from network_app.sync.conflicts import Conflict
from network_app.sync.head import Head
from network_app.sync.inbox import Arrival, Inbox
from primitives.ids import NodeID


class Taken(NamedTuple):
    """A block that was read."""

    block: ParsedBlock
    sender: NodeID
    signer: NodeID | None
    """Who of those that make blocks has signed it."""


class Intake:
    """What comes in of one chain."""

    def __init__(self, head: Head, choice: Choice) -> None:
        self._head = head
        self._choice = choice
        self._inbox = Inbox()

    def __len__(self) -> int:
        return len(self._inbox)

    def offer(self, raw: bytes, sender: NodeID) -> bool:
        """Take a block that a peer sent, to be read soon; False when there is no room."""
        arrival = Arrival(raw, sender, from_producer=sender in self._head.producers)
        return self._inbox.add(arrival)

    def clear(self) -> None:
        """Forget all."""
        self._inbox.clear()

    async def take(self) -> list[Taken]:
        """Read what came first, set aside who sent what is no block, and note what contradicts ours."""
        arrivals = self._inbox.take()
        if not arrivals:
            return []
        taken: list[Taken] = []
        read = await self._head.run(self._read, arrivals, self._head.producers)
        for arrival, found in zip(arrivals, read, strict=True):
            if isinstance(found, InvalidBlock):
                reason = f"sent bytes that are no block: {found.reason}"
                self._choice.set_aside(arrival.sender, self._head.chain.alias, reason)
            elif found is not None:
                await self._compare(found)
                taken.append(found)
        return taken

    async def stray(self, block: ParsedBlock) -> None:
        """Note a block that follows another one than our last, if one who makes blocks has signed it."""
        ours = self._head.place
        try:
            signer = await self._head.run(self._head.chain.signer, block.raw, self._head.producers)
        except InvalidBlock:
            return
        if signer is not None:
            conflict = Conflict(ours.height, ours.block_id, block.parent_id, signer)
            self._head.conflicts.found(conflict)

    def _read(
        self, arrivals: Sequence[Arrival], producers: frozenset[NodeID]
    ) -> list[Taken | InvalidBlock | None]:
        """Read blocks as far as they are looked at: None are the others. Blocking: for a thread."""
        found: list[Taken | InvalidBlock | None] = []
        chain = self._head.chain
        for raw, sender, from_producer in arrivals:
            try:
                signer = chain.signer(raw, producers)
                is_read = from_producer or signer is not None
                found.append(Taken(chain.parse(raw), sender, signer) if is_read else None)
            except InvalidBlock as error:
                found.append(error)
        return found

    async def _compare(self, one: Taken) -> None:
        """Note a block of one who makes them at whose height another one is accepted here."""
        block = one.block
        if one.signer is None or not 0 < block.height <= self._head.place.height:
            return
        ours = self._head.at(block.height)
        if ours is None:
            find = self._head.chain.accepted_at
            (ours,) = await self._head.run(find, [block.height])
        if ours is not None and ours != block.block_id:
            conflict = Conflict(block.height, ours, block.block_id, one.signer)
            self._head.conflicts.found(conflict)
