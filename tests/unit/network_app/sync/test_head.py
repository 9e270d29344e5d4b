"""What the event loop knows of a chain's last block, while the chain moves on in threads."""

from collections.abc import Callable
from typing import Any

import pytest

from network_app.sync.head import Head
from tests.builders.memory_chain import MemoryChain


async def test_a_block_that_is_made_during_the_question_is_asked_for_again() -> None:
    chain = MemoryChain()

    async def meanwhile(work: Callable[..., Any], *args: object) -> Any:
        found = work(*args)
        if chain.height == 0:
            chain.make()
            head.grow_stale()
        return found

    head = Head(chain, meanwhile)
    assert (await head.fresh()).height == 0
    assert head.stale
    assert (await head.fresh()).height == 1
    assert not head.stale


async def test_a_question_that_fails_leaves_the_place_stale() -> None:
    async def fails(work: Callable[..., Any], *args: object) -> Any:
        raise OSError("the database is away")

    head = Head(MemoryChain(), fails)
    with pytest.raises(OSError, match=r"^the database is away$"):
        await head.refresh()
    assert head.stale
