"""The start of the next range of blocks to fetch towards a target, also if no peer names a block."""

import asyncio
from collections.abc import Callable, Collection
from typing import Any

import pytest

from network_app.config import NetworkConfig
from network_app.ports import BlockRef, ParsedBlock
from network_app.sync.errors import NoAgreement
from network_app.sync.frontier import FrontierResult
from network_app.sync.last_accepted import LastAccepted
from network_app.sync.progress import BootstrapProgress
from network_app.sync.reaching import FetchedBlockExecutor, Reacher
from network_app.sync.witnesses import Beacons
from primitives.ids import ID, NodeID
from tests.builders.memory_chain import MemoryChain, id_of

PEER = NodeID(bytes([1]) * 20)
CONFIG = NetworkConfig(1, ancestors_count=10, most_fetched=40)


async def at_once(work: Callable[..., Any], *args: object) -> Any:
    await asyncio.sleep(0)
    return work(*args)


class Peers:
    """The peers that have a chain: a frontier, a fetcher and a choice in one object."""

    def __init__(self, chain: MemoryChain, mine: MemoryChain, offset: int | None) -> None:
        self.chain = chain
        self.mine = mine
        self.offset = offset
        """Added to the height of the block that the peers name; None: they name none."""
        self.filled: list[int] = []

    async def accepted_at(self, height: int, place: BlockRef) -> FrontierResult | None:
        del place
        if self.offset is None:
            return None
        return FrontierResult(id_of(self.chain.raws[height + self.offset]), frozenset({PEER}))

    def beacons(self) -> Beacons:
        return Beacons(frozenset({PEER}), 1)

    def validators(self) -> list[NodeID]:
        return [PEER]

    async def block(self, block_id: ID, among: Collection[NodeID]) -> ParsedBlock:
        del among
        return self.chain.parse(self.chain.raws[self.chain.heights[block_id]])

    async def fill(self, top: BlockRef, low: BlockRef, among: object, *, drains: object) -> None:
        del among, drains
        self.filled.append(top.height)
        raws = self.chain.raws[low.height + 1 : top.height + 1]
        self.mine.keep_fetched([self.chain.parse(raw) for raw in raws])

    def forget_sources(self, up_to: int) -> None:
        del up_to


async def reach(height: int, offset: int | None) -> tuple[Peers, Exception | None]:
    """Sync an empty chain to a height; return the peers, and the error if it failed."""
    theirs, mine = MemoryChain(), MemoryChain()
    theirs.make_many(height)
    peers = Peers(theirs, mine, offset)
    last_accepted = LastAccepted(mine, at_once)
    await last_accepted.refresh()
    whole: Any = peers
    reacher = Reacher(
        last_accepted,
        whole,
        whole,
        whole,
        CONFIG,
        executor=FetchedBlockExecutor(last_accepted, CONFIG, lambda _before, _accepted: None),
        progress=BootstrapProgress(last_accepted),
    )
    try:
        await reacher.reach(FrontierResult(id_of(theirs.raws[-1]), frozenset({PEER})))
    except NoAgreement as error:
        return peers, error
    return peers, None


async def test_long_gap_is_fetched_in_pieces() -> None:
    peers, error = await reach(95, 0)
    assert error is None
    assert peers.filled == [*range(10, 100, 10), 95]
    assert peers.mine.raws == peers.chain.raws


async def test_short_gap_needs_no_intermediate_blocks() -> None:
    peers, error = await reach(10, None)
    assert error is None
    assert peers.filled == [10]
    assert peers.mine.height == 10


@pytest.mark.parametrize("offset", [None, 1])
async def test_gap_without_intermediate_blocks_is_fetched_whole(
    offset: int | None,
) -> None:
    peers, error = await reach(40, offset)
    assert error is None
    assert peers.filled[0] == 40
    assert peers.mine.height == 40


async def test_overlong_gap_without_intermediate_blocks_fails() -> None:
    peers, error = await reach(41, None)
    assert type(error) is NoAgreement
    assert str(error) == "1 beacons have accepted nothing in common"
    assert peers.filled == []
