"""Calls of blocks that a development chain removed while they were indexed do not become rows."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cchain_app import models
from cchain_app.selectors import blocks
from cchain_app.selectors import calls as found
from cchain_app.services import calls
from cchain_app.store import chain as stored
from chaindb import generation
from tests.integration.conftest import Chain, Rpc

pytestmark = pytest.mark.node_settings(profile="embedded")

LONG = 60.0
Meanwhile = Callable[[], None]


@pytest.fixture
def other_blocks(chain: Chain, rpc: Rpc) -> Iterator[Meanwhile]:
    """A chain of three blocks whose calls are not indexed; return a function that replaces the blocks."""
    calls.index_calls(chain.evm, seconds=LONG)
    snapshot = rpc("evm_snapshot")
    for _ in range(3):
        chain.do(value=1)

    def replace_all() -> None:
        rpc("evm_revert", snapshot)
        chain.nonce = 0
        for _ in range(3):
            chain.do(value=5)

    yield replace_all
    assert calls.index_calls(chain.evm, seconds=LONG) == 3
    assert values() == [5, 5, 5]


def values() -> list[int]:
    return [row.value for row in models.Call.objects.order_by("id")]


def once_in_place_of_reading(
    monkeypatch: pytest.MonkeyPatch, act: Callable[[Callable[[], Any]], Any]
) -> None:
    """Replace the first read of blocks by a function, which receives the original read as its argument."""
    read = found.next_blocks

    def once(*where: Any) -> Any:
        monkeypatch.setattr(found, "next_blocks", read)
        return act(lambda: read(*where))

    monkeypatch.setattr(found, "next_blocks", once)


def test_when_they_were_read_before(
    chain: Chain, other_blocks: Meanwhile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_then_replace(read: Callable[[], Any]) -> Any:
        there = read()
        other_blocks()
        return there

    once_in_place_of_reading(monkeypatch, read_then_replace)
    assert calls.index_calls(chain.evm, seconds=LONG) == 0
    assert values() == []


def test_rewound_blocks_during_indexing_are_skipped(
    chain: Chain, other_blocks: Meanwhile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_none(_: Callable[[], Any]) -> Any:
        other_blocks()
        return []

    once_in_place_of_reading(monkeypatch, find_none)
    assert calls.index_calls(chain.evm, seconds=LONG) == 0
    assert found.indexed_height(chain.evm) == 0


def test_when_rows_were_restored(
    chain: Chain, other_blocks: Meanwhile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def restore_then_read(read: Callable[[], Any]) -> Any:
        with chain.evm.db.atomic():
            generation.advance(chain.evm.db)
        return read()

    once_in_place_of_reading(monkeypatch, restore_then_read)
    assert calls.index_calls(chain.evm, seconds=LONG) == 0
    other_blocks()


def test_blocks_are_read_together_that_follow_each_other(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 7):
        if number == 4:
            chain.mine()
        else:
            chain.do()
    chain.evm.memory.reset_to(blocks.head(chain.evm))

    def numbers(first: int, last: int = 6) -> list[int]:
        return [block.number for block in found.next_blocks(chain.evm, first, last)]

    assert numbers(1) == [1, 2, 3]
    assert numbers(2, 2) == [2]
    assert numbers(4) == [5, 6]
    assert numbers(4, 4) == []
    monkeypatch.setattr(found, "BLOCKS_AT_ONCE", 2)
    assert numbers(1) == [1, 2]
    monkeypatch.setattr(found, "GAS_AT_ONCE", 1)
    assert numbers(1) == [1]


def test_recent_blocks_are_read_from_memory(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [chain.do()[1] for _ in range(3)]
    with monkeypatch.context() as patched:
        patched.setattr(stored, "load_blocks", None)
        assert found.next_blocks(chain.evm, 1, 3) == made
