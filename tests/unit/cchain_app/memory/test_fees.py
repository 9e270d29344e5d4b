"""The memory of fees: each block is read once, until the chain is rewound."""

import pytest

from cchain_app.blocks.assembly import BlobFees
from cchain_app.feemarket import BlockFees
from cchain_app.memory import fees
from cchain_app.memory.fees import FeesMemory, StoredFees


class Rows:
    """The blocks of a chain, of which all base fees change with the branch."""

    def __init__(self) -> None:
        self.branch = 1
        self.head = 100
        self.asked: list[tuple[int, int]] = []

    def read(self, first: int, last: int) -> list[StoredFees]:
        self.asked.append((first, last))
        return [
            StoredFees(BlockFees(number, self.branch, 0, 1, ()), BlobFees(0, 0.0))
            for number in range(first, min(last, self.head) + 1)
        ]


def numbers(found: list[StoredFees]) -> list[int]:
    return [item.block.number for item in found]


def test_only_unknown_blocks_are_read() -> None:
    rows, memory = Rows(), FeesMemory()
    assert numbers(memory.of(10, 19, rows.read)) == [*range(10, 20)]
    assert numbers(memory.of(12, 22, rows.read)) == [*range(12, 23)]
    assert numbers(memory.of(10, 22, rows.read)) == [*range(10, 23)]
    assert rows.asked == [(10, 19), (20, 22)]


def test_a_gap_is_read_in_one_piece() -> None:
    rows, memory = Rows(), FeesMemory()
    memory.of(5, 5, rows.read)
    assert numbers(memory.of(3, 8, rows.read)) == [3, 4, 5, 6, 7, 8]
    assert rows.asked[1:] == [(3, 8)]


def test_after_a_rewind_all_are_read_again() -> None:
    rows, memory = Rows(), FeesMemory()
    memory.of(1, 3, rows.read)
    rows.branch = 2
    memory.reset()
    assert {item.block.base_fee for item in memory.of(1, 3, rows.read)} == {2}


def test_blocks_that_were_read_before_a_rewind_are_not_kept() -> None:
    rows, memory = Rows(), FeesMemory()

    def read_before(first: int, last: int) -> list[StoredFees]:
        found = rows.read(first, last)
        memory.reset()
        return found

    memory.of(1, 3, read_before)
    assert len(memory) == 0


def test_blocks_that_do_not_exist_any_more_are_missing() -> None:
    rows, memory = Rows(), FeesMemory()
    rows.head = 2
    assert numbers(memory.of(1, 3, rows.read)) == [1, 2]


def test_the_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fees, "MOST_BLOCKS", 4)
    rows, memory = Rows(), FeesMemory()
    memory.of(1, 6, rows.read)
    assert len(memory) == 4
    assert numbers(memory.of(1, 6, rows.read)) == [*range(1, 7)]
