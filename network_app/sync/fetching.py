"""Gets blocks that are missing from peers: one, or a block with its ancestors (p2p.md 9, step 3)."""

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Collection
from typing import NamedTuple

from network_app.config import NetworkConfig
from network_app.ports import BlockPlace, ParsedBlock
from network_app.sync.backlog import Backlog, stands_still
from network_app.sync.choosing import Choice
from network_app.sync.errors import BlockRefused, Forked, NobodyHas, WrongHeight
from network_app.sync.head import Head
from network_app.sync.reading import read_ancestry
from network_app.sync.requests import Requests
from network_app.wire.p2p_pb2 import Ancestors, EngineType, Get, GetAncestors, Put
from primitives.ids import ID, NodeID

ROUNDS = 3
"""How often peers are asked for a block before the frontier is asked for anew."""
MOST_OTHERS = 3
"""Peers that are asked in a round besides those that should have it: silent ones take ten seconds each."""


class Source(NamedTuple):
    """Who sent the fetched blocks up to a height, from where the source before ends."""

    height: int
    node_id: NodeID


class Fetcher:
    """Fetches blocks of one chain. A peer that answers wrongly is set aside, and another is asked."""

    def __init__(
        self, head: Head, requests: Requests, choice: Choice, config: NetworkConfig
    ) -> None:
        self._head = head
        self._requests = requests
        self._choice = choice
        self._config = config
        self._backlog = Backlog(head, config)
        self._sources: list[Source] = []

    async def block(self, block_id: ID, among: Collection[NodeID]) -> ParsedBlock:
        """Return a block, asked for by its ID: of some peers first, and then of a few others.

        Raises:
            NobodyHas: No peer gave it.
            BlockRefused: It cannot be read here.
        """
        (block,), _ = await self._ask_around(block_id, among, 0, None, alone=True)
        return block

    async def fill(
        self,
        top: BlockPlace,
        low: BlockPlace,
        among: Collection[NodeID],
        *,
        drains: Callable[[], bool] = stands_still,
    ) -> int:
        """Fetch and store all blocks from `top` down to right above `low`; return how many.

        `drains` says whether blocks below `low` are being executed, so that it is worth waiting for room.

        Raises:
            TooMuchFetched: There is no room for them.
            NobodyHas: No peer gave one of them.
            WrongHeight: One claims a height that does not fit its parent's.
            BlockRefused: One is the right one, and cannot be read here.
            Forked: What they lead to at `low` is another block.
        """
        wanted, count = top, 0
        while wanted.height > low.height:
            blocks, sender = await self._ask_around(
                wanted.block_id, among, low.height, wanted.height
            )
            await self._backlog.keep(blocks, drains=drains)
            self._note(sender, blocks)
            count += len(blocks)
            wanted = BlockPlace(blocks[-1].height - 1, blocks[-1].parent_id)
        if wanted.block_id != low.block_id:
            raise Forked(low.height, low.block_id, wanted.block_id)
        return count

    def source_of(self, height: int) -> NodeID | None:
        """Return who sent the fetched block at a height, if that was since the start."""
        at = bisect_left(self._sources, height, key=lambda source: source.height)
        return self._sources[at].node_id if at < len(self._sources) else None

    def forget_sources(self, up_to: int | None = None) -> None:
        """Forget who sent what, up to a height or all."""
        self._sources = [one for one in self._sources if up_to is not None and one.height > up_to]

    async def _ask_around(
        self,
        block_id: ID,
        among: Collection[NodeID],
        floor: int,
        height: int | None,
        *,
        alone: bool = False,
    ) -> tuple[list[ParsedBlock], NodeID]:
        """Ask those who said that they have it, then maybe some others, until one gives it."""
        for turn in range(ROUNDS):
            if turn:
                await asyncio.sleep(self._config.fetch_again)
            first = self._choice.in_order(self._head.chain.alias, among)
            rest = [one for one in self._choice.connected() if one not in among]
            rest = self._choice.in_order(self._head.chain.alias, rest)[:MOST_OTHERS]
            for node_id in (*first, *rest):
                blocks = await self._ask_one(node_id, block_id, floor, height, alone=alone)
                if blocks:
                    return blocks, node_id
        raise NobodyHas(block_id)

    async def _ask_one(
        self, node_id: NodeID, block_id: ID, floor: int, height: int | None, *, alone: bool
    ) -> list[ParsedBlock]:
        containers = await (self._get if alone else self._get_ancestors)(node_id, block_id)
        if not containers:
            return []
        blocks, fault = await self._head.run(
            read_ancestry,
            self._head.chain,
            containers[: self._config.ancestors_count],
            block_id,
            floor,
            height,
        )
        if isinstance(fault, (BlockRefused, WrongHeight)):
            raise fault
        if fault is not None:
            self._choice.set_aside(node_id, self._head.chain.alias, str(fault))
        return blocks

    async def _get(self, node_id: NodeID, block_id: ID) -> list[bytes]:
        # Silence is the right answer of who does not have it: anybody may have named what is not there.
        request = Get(container_id=bytes(block_id))
        put = await self._requests.ask(node_id, request, Put, counts=False)
        return [] if put is None else [put.container]

    async def _get_ancestors(self, node_id: NodeID, block_id: ID) -> list[bytes]:
        request = GetAncestors(
            container_id=bytes(block_id), engine_type=EngineType.ENGINE_TYPE_CHAIN
        )
        answer = await self._requests.ask(node_id, request, Ancestors, patient=True)
        return [] if answer is None else list(answer.containers)

    def _note(self, node_id: NodeID, blocks: list[ParsedBlock]) -> None:
        """Remember who sent blocks, which come before all that are remembered or after them."""
        lowest, highest = blocks[-1].height, blocks[0].height
        kept = [one for one in self._sources if not lowest <= one.height <= highest]
        self._sources = sorted([*kept, Source(highest, node_id)])
