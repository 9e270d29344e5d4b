"""The limit of stored bytes of fetched blocks, and the treatment of blocks beyond it."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from network_app.config import NetworkConfig
from network_app.ports import ParsedBlock
from network_app.sync import fetching
from network_app.sync.errors import TooMuchFetched
from network_app.sync.fetching import Backlog
from network_app.sync.last_accepted import LastAccepted
from network_app.wire.fields import LARGEST
from tests.builders.memory_chain import MemoryChain, block_bytes, id_of
from tests.builders.memory_network import until

WORDS = "fetched blocks take more than 1000 bytes and none of them can be executed yet"


async def at_once(work: Callable[..., Any], *args: object) -> Any:
    await asyncio.sleep(0)
    return work(*args)


def blocks(*heights: int, size: int = 100) -> list[ParsedBlock]:
    """Return blocks of `size` bytes each."""
    chain = MemoryChain()
    empty = len(block_bytes(id_of(chain.raws[0]), 0))
    raws = [block_bytes(id_of(chain.raws[0]), at, bytes(size - empty)) for at in heights]
    return [chain.parse(raw) for raw in raws]


def backlog_of(chain: MemoryChain) -> Backlog:
    return Backlog(LastAccepted(chain, at_once), NetworkConfig(1, most_fetched_bytes=1000))


async def test_stored_bytes_are_limited() -> None:
    chain = MemoryChain()
    kept = backlog_of(chain)
    await kept.keep(blocks(*range(1, 11)))
    with pytest.raises(TooMuchFetched, match=WORDS) as refused:
        await kept.keep(blocks(11))
    assert refused.value.most == 1000
    assert sorted(chain.stored) == list(range(1, 11))


async def test_stored_blocks_of_an_earlier_run_count() -> None:
    chain = MemoryChain()
    chain.keep_fetched(blocks(*range(1, 10)))
    kept = backlog_of(chain)
    with pytest.raises(TooMuchFetched, match=WORDS):
        await kept.keep(blocks(10, 11))
    await kept.keep(blocks(10))
    assert chain.fetched_bytes() == 1000


async def test_executed_blocks_free_space() -> None:
    chain = MemoryChain()
    kept = backlog_of(chain)
    await kept.keep(blocks(*range(1, 11)))
    chain.forget_fetched(4)
    await kept.keep(blocks(*range(11, 15)))
    with pytest.raises(TooMuchFetched, match=WORDS):
        await kept.keep(blocks(15))


async def test_fetching_waits_while_blocks_are_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "LOOK", 0.001)
    chain = MemoryChain()
    kept = backlog_of(chain)
    await kept.keep(blocks(*range(1, 11)))
    looks: list[int] = []
    bytes_now = chain.fetched_bytes
    chain.fetched_bytes = lambda: looks.append(bytes_now()) or bytes_now()  # type: ignore[method-assign, func-returns-value]
    waiting = asyncio.create_task(kept.keep(blocks(11, 12), drains=lambda: True))
    await until(lambda: len(looks) > 2)
    assert not waiting.done()
    chain.forget_fetched(1)
    await until(lambda: looks.count(900) > 2)
    assert not waiting.done()
    chain.forget_fetched(2)
    await waiting
    assert sorted(chain.stored) == list(range(3, 13))


async def test_storing_fails_if_execution_freed_no_space(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetching, "LOOK", 0.001)
    chain = MemoryChain()
    kept = backlog_of(chain)
    await kept.keep(blocks(*range(1, 11)))
    answers = iter([True, True, False])
    with pytest.raises(TooMuchFetched, match=WORDS):
        await kept.keep(blocks(11), drains=lambda: next(answers))
    assert list(answers) == []


async def test_space_freed_by_the_last_execution_is_used() -> None:
    chain = MemoryChain()
    kept = backlog_of(chain)
    await kept.keep(blocks(*range(1, 11)))

    def drains() -> bool:
        """Finish the execution after this call, before the bytes are counted."""
        chain.forget_fetched()
        return False

    await kept.keep(blocks(11), drains=drains)
    assert sorted(chain.stored) == [11]


def test_a_piece_of_the_largest_blocks_always_fits() -> None:
    config = NetworkConfig(1)
    a_proposal_and_its_option = 2
    most = (config.ancestors_count + a_proposal_and_its_option) * LARGEST
    assert most <= config.most_fetched_bytes
    assert config.most_fetched_bytes < config.most_fetched * LARGEST // 20
