"""The event loop's copy of a chain's last block, while the chain advances in threads."""

from collections.abc import Callable
from typing import Any

import pytest

from network_app.ports import BlockRef
from network_app.sync.last_accepted import LastAccepted
from tests.builders.memory_chain import MemoryChain


async def test_block_built_during_the_query_is_queried_again() -> None:
    chain = MemoryChain()

    async def meanwhile(work: Callable[..., Any], *args: object) -> Any:
        found = work(*args)
        if chain.height == 0:
            chain.make()
            last_accepted.grow_stale()
        return found

    last_accepted = LastAccepted(chain, meanwhile)
    assert (await last_accepted.fresh()).height == 0
    assert last_accepted.stale
    assert (await last_accepted.fresh()).height == 1
    assert not last_accepted.stale


async def test_failed_query_leaves_the_position_stale() -> None:
    async def fails(work: Callable[..., Any], *args: object) -> Any:
        raise OSError("the database is away")

    last_accepted = LastAccepted(MemoryChain(), fails)
    with pytest.raises(OSError, match=r"^the database is away$"):
        await last_accepted.refresh()
    assert last_accepted.stale


@pytest.mark.parametrize("regrown", [0, 2, 5])
async def test_a_chain_that_went_back_is_followed_there(regrown: int) -> None:
    async def at_once(work: Callable[..., Any], *args: object) -> Any:
        return work(*args)

    chain = MemoryChain()
    last_accepted = LastAccepted(chain, at_once)
    chain.make()
    await last_accepted.refresh()
    chain.make_many(3)
    await last_accepted.refresh()
    assert last_accepted.place.height == 4
    gone = [chain.raws.pop() for _ in range(3)]
    for raw in gone:
        del chain.heights[chain.parse(raw).block_id]
    chain.make_many(regrown, size=7)

    assert await last_accepted.refresh() == chain.last_accepted()

    assert last_accepted.at(3) in {None, *chain.accepted_at([3])}


async def test_late_answer_does_not_move_last_accepted_back() -> None:
    answers: list[BlockRef] = []

    async def late(work: Callable[..., Any], *args: object) -> Any:
        found = work(*args)
        return answers.pop() if answers and isinstance(found, BlockRef) else found

    chain = MemoryChain()
    last_accepted = LastAccepted(chain, late)
    old = chain.last_accepted()
    chain.make_many(2)
    await last_accepted.refresh()
    answers.append(old)
    assert await last_accepted.refresh() == chain.last_accepted()
