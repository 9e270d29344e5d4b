"""Jobs run after all their dependencies are settled; children request failed blocks again."""

from dataclasses import dataclass

from network_app.snowman.waiting_blocks import Jobs, Ready, UnverifiedBlocks
from primitives.ids import ID


def _id(number: int) -> ID:
    return ID(number.to_bytes(32, "big"))


@dataclass(frozen=True)
class Block:
    block_id: ID
    parent_id: ID
    height: int = 0
    raw: bytes = bytes(10)


def test_a_job_without_dependencies_is_ready() -> None:
    jobs: Jobs[str] = Jobs()
    assert jobs.add("vote", []) == Ready("vote", ())
    assert len(jobs) == 0


def test_awaited_blocks_are_reported() -> None:
    jobs: Jobs[str] = Jobs()
    jobs.add("vote", [_id(1)])
    assert jobs.waits_for(_id(1))
    assert not jobs.waits_for(_id(2))
    jobs.abandon(_id(1))
    assert not jobs.waits_for(_id(1))


def test_a_job_is_ready_when_the_last_dependency_is_settled() -> None:
    jobs: Jobs[str] = Jobs()
    assert jobs.add("vote", [_id(1), _id(2)]) is None
    assert jobs.fulfil(_id(1)) == []
    assert jobs.fulfil(_id(1)) == []
    assert jobs.abandon(_id(2)) == [Ready("vote", (_id(2),))]
    assert len(jobs) == 0


def test_jobs_of_a_block_run_in_arrival_order() -> None:
    jobs: Jobs[int] = Jobs()
    for number in range(5):
        jobs.add(number, [_id(7)])
    assert [item.job for item in jobs.fulfil(_id(7))] == [0, 1, 2, 3, 4]


def test_failed_block_resolves_to_its_verified_ancestor() -> None:
    blocks: UnverifiedBlocks[Block] = UnverifiedBlocks()
    for number in range(1, 4):
        blocks.add(Block(_id(number), _id(number - 1)))
    assert blocks.verified_ancestor(_id(3)) == _id(0)
    assert blocks.verified_ancestor(_id(9)) == _id(9)
    blocks.remove(_id(2))
    assert blocks.verified_ancestor(_id(3)) == _id(2)
    assert blocks.get(_id(2)) is None


def test_blocks_below_a_decided_block_are_dropped() -> None:
    blocks: UnverifiedBlocks[Block] = UnverifiedBlocks()
    for child, parent in ((1, 0), (2, 1), (3, 1), (4, 3), (5, 9)):
        blocks.add(Block(_id(child), _id(parent)))
    blocks.remove_descendants(_id(1))
    assert [number for number in range(6) if _id(number) in blocks] == [1, 5]
    blocks.remove_descendants(_id(0))
    assert len(blocks) == 1


def test_the_oldest_blocks_are_not_kept_whole() -> None:
    blocks: UnverifiedBlocks[Block] = UnverifiedBlocks(cache_bytes=25)
    for number in range(1, 4):
        blocks.add(Block(_id(number), _id(0)))
        blocks.get(_id(1))
    assert [number for number in range(1, 4) if blocks.get(_id(number)) is not None] == [1, 3]
    assert len(blocks) == 3
