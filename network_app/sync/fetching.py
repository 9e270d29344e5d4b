"""Fetches missing blocks from peers: a single block, or a block with its ancestors (p2p.md 9, step 3).

The answers are parsed and checked here. Fetched blocks are stored until they are executed, up to a limit in bytes.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from network_app.config import NetworkConfig
from network_app.ports import AcceptedChain, BlockRef, BlockRejection, ParsedBlock
from network_app.sync.choosing import PeerSelection
from network_app.sync.errors import (
    AncestryReason,
    BadAncestors,
    Forked,
    ImpossibleHeight,
    InvalidFetchedBlock,
    NobodyHas,
    TooMuchFetched,
)
from network_app.sync.last_accepted import LastAccepted
from network_app.sync.requests import Requests
from network_app.wire.p2p_pb2 import Ancestors, EngineType, Get, GetAncestors, Put
from primitives.ids import ID, NodeID


class Ancestry(NamedTuple):
    """Blocks, each the parent of the one before, and the fault of the first bad one."""

    blocks: list[ParsedBlock]
    fault: BadAncestors | InvalidFetchedBlock | ImpossibleHeight | None


def read_ancestry(
    chain: AcceptedChain, containers: Sequence[bytes], wanted: ID, floor: int, height: int | None
) -> Ancestry:
    """Parse a block and its ancestors as long as they are valid, down to the height above `floor`.

    Blocking: call it in a thread. IDs are hashes, so blocks linked by parent IDs were not forged in transit.
    `height` is the first block's height if it is known.
    """
    blocks: list[ParsedBlock] = []
    for raw in containers:
        expected = blocks[-1].height - 1 if blocks else height
        try:
            block = _read(chain, raw, blocks[-1] if blocks else None, wanted, expected)
        except (BadAncestors, InvalidFetchedBlock) as fault:
            return Ancestry(blocks, fault)
        if expected is not None and block.height != expected:
            return Ancestry(blocks, ImpossibleHeight(block.block_id, block.height, expected))
        blocks.append(block)
        if block.height <= floor + 1:
            break
    return Ancestry(blocks, None)


def _read(
    chain: AcceptedChain, raw: bytes, child: ParsedBlock | None, wanted: ID, height: int | None
) -> ParsedBlock:
    try:
        block = chain.parse(raw)
    except BlockRejection as error:
        if not error.spoiled and error.block_id == (wanted if child is None else child.parent_id):
            # It is the requested block, but cannot be parsed here, whichever peer sends it.
            unread = BlockRejection(error.block_id, error.height or height, error.reason)
            raise InvalidFetchedBlock(unread) from error
        raise BadAncestors(AncestryReason.UNPARSABLE, cause=error.reason) from error
    if child is None and block.block_id != wanted:
        raise BadAncestors(AncestryReason.OTHER_BLOCK, wanted=wanted, actual=block.block_id)
    if child is not None and block.block_id != child.parent_id:
        raise BadAncestors(
            AncestryReason.NOT_THE_PARENT, parent_id=child.parent_id, actual=block.block_id
        )
    return block


LOOK = 0.5
"""Seconds between checks whether blocks were executed; each check counts all stored blocks."""


def stands_still() -> bool:
    """Return False: no stored blocks are being executed."""
    return False


class Backlog:
    """Stores fetched blocks of one chain, up to a limit.

    Fetched blocks are unverified until they are executed, and the peer that named them may have forged
    them. Blocks stored by an earlier run count as well.
    """

    def __init__(self, last_accepted: LastAccepted, config: NetworkConfig) -> None:
        self._last_accepted = last_accepted
        self._most = config.most_fetched_bytes
        self._size: int | None = None
        """Stored bytes at the last count plus those added since: an upper bound of the current size."""

    async def keep(
        self, blocks: Sequence[ParsedBlock], *, drains: Callable[[], bool] = stands_still
    ) -> None:
        """Store blocks; while the limit is reached, wait if `drains` reports that blocks are executed.

        Raises:
            TooMuchFetched: The limit is reached.
        """
        size = sum(len(block.raw) for block in blocks)
        while True:
            may_wait = (
                drains()
            )  # before counting, because the last blocks may be executed meanwhile
            if await self._has_room(size):
                break
            if not may_wait:
                raise TooMuchFetched(self._most)
            await asyncio.sleep(LOOK)
        await self._last_accepted.run(self._last_accepted.chain.keep_fetched, blocks)

    async def _has_room(self, size: int) -> bool:
        """Return whether `size` more bytes fit, and if so count them as stored."""
        if self._size is None or self._size + size > self._most:
            self._size = await self._last_accepted.run(self._last_accepted.chain.fetched_bytes)
        if self._size + size > self._most:
            return False
        self._size += size
        return True


ROUNDS = 3
"""Number of times that peers are asked for a block before the frontier is asked for again."""
MAX_OTHERS = 3
"""Other peers asked per round, besides those that should have the block; a silent one takes ten seconds."""


class FetchSource(NamedTuple):
    """The sender of the fetched blocks up to a height, from the height of the source before."""

    height: int
    node_id: NodeID


class Fetcher:
    """Fetches blocks of one chain. A peer with a wrong answer is set aside, and another one is asked."""

    def __init__(
        self,
        last_accepted: LastAccepted,
        requests: Requests,
        choice: PeerSelection,
        config: NetworkConfig,
    ) -> None:
        self._last_accepted = last_accepted
        self._requests = requests
        self._choice = choice
        self._config = config
        self._backlog = Backlog(last_accepted, config)
        self._sources: list[FetchSource] = []

    async def block(self, block_id: ID, among: Collection[NodeID]) -> ParsedBlock:
        """Return a block by its ID; the peers in `among` are asked first, then a few others.

        Raises:
            NobodyHas: No peer sent it.
            InvalidFetchedBlock: It cannot be parsed here.
        """
        (block,), _ = await self._ask_around(block_id, among, 0, None, alone=True)
        return block

    async def fill(
        self,
        top: BlockRef,
        low: BlockRef,
        among: Collection[NodeID],
        *,
        drains: Callable[[], bool] = stands_still,
    ) -> int:
        """Fetch and store all blocks from `top` down to the child of `low`; return their number.

        `drains` reports whether blocks below `low` are being executed, so that waiting for space helps.

        Raises:
            TooMuchFetched: The limit for stored blocks is reached.
            NobodyHas: No peer sent one of them.
            ImpossibleHeight: A block claims a height that does not fit its parent's.
            InvalidFetchedBlock: A block is the requested one, and cannot be parsed here.
            Forked: The ancestor at the height of `low` is another block.
        """
        wanted, count = top, 0
        while wanted.height > low.height:
            blocks, sender = await self._ask_around(
                wanted.block_id, among, low.height, wanted.height
            )
            await self._backlog.keep(blocks, drains=drains)
            self._note(sender, blocks)
            count += len(blocks)
            wanted = BlockRef(blocks[-1].height - 1, blocks[-1].parent_id)
        if wanted.block_id != low.block_id:
            raise Forked(low.height, low.block_id, wanted.block_id)
        return count

    def source_of(self, height: int) -> NodeID | None:
        """Return the sender of the fetched block at a height; None if it is not known."""
        at = bisect_left(self._sources, height, key=lambda source: source.height)
        return self._sources[at].node_id if at < len(self._sources) else None

    def forget_sources(self, up_to: int | None = None) -> None:
        """Forget the senders of blocks up to a height, or of all blocks."""
        self._sources = [
            source for source in self._sources if up_to is not None and source.height > up_to
        ]

    async def _ask_around(
        self,
        block_id: ID,
        among: Collection[NodeID],
        floor: int,
        height: int | None,
        *,
        alone: bool = False,
    ) -> tuple[list[ParsedBlock], NodeID]:
        """Ask the peers in `among`, then a few others, until one sends the block."""
        for turn in range(ROUNDS):
            if turn:
                await asyncio.sleep(self._config.fetch_again)
            first = self._choice.in_order(self._last_accepted.chain.alias, among)
            rest = [item for item in self._choice.connected() if item not in among]
            rest = self._choice.in_order(self._last_accepted.chain.alias, rest)[:MAX_OTHERS]
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
        blocks, fault = await self._last_accepted.run(
            read_ancestry,
            self._last_accepted.chain,
            containers[: self._config.ancestors_count],
            block_id,
            floor,
            height,
        )
        if isinstance(fault, (InvalidFetchedBlock, ImpossibleHeight)):
            raise fault
        if fault is not None:
            self._choice.set_aside(node_id, self._last_accepted.chain.alias, str(fault))
        return blocks

    async def _get(self, node_id: NodeID, block_id: ID) -> list[bytes]:
        # Silence is the correct answer of a peer without the block, which may not even exist.
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
        """Remember the sender of blocks that come before or after all remembered ones."""
        lowest, highest = blocks[-1].height, blocks[0].height
        kept = [source for source in self._sources if not lowest <= source.height <= highest]
        self._sources = sorted([*kept, FetchSource(highest, node_id)])
