"""What the event loop knows of a chain's last block, while the chain moves on in threads."""

from collections.abc import Callable
from typing import Any

import pytest

from network_app.sync.last_accepted import LastAccepted
from tests.builders.memory_chain import MemoryChain


async def test_a_block_that_is_made_during_the_question_is_asked_for_again() -> None:
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


async def test_a_question_that_fails_leaves_the_place_stale() -> None:
    async def fails(work: Callable[..., Any], *args: object) -> Any:
        raise OSError("the database is away")

    last_accepted = LastAccepted(MemoryChain(), fails)
    with pytest.raises(OSError, match=r"^the database is away$"):
        await last_accepted.refresh()
    assert last_accepted.stale
