"""Blocks that wait for their parents or their options."""

from hypothesis import given, settings
from hypothesis import strategies as st

from network_app.ports import ParsedBlock
from network_app.sync.buffer import Buffer
from primitives.hashing import sha256
from primitives.ids import ID, NodeID
from tests.searching import cases

ALICE, BOB, PROPOSER = (NodeID(letter * 20) for letter in (b"a", b"b", b"p"))
ROOT = ID(bytes(32))


def block(
    name: str, parent_id: ID, height: int, *, size: int = 10, needs_option: bool = False
) -> ParsedBlock:
    block_id = ID(sha256(name.encode()))
    return ParsedBlock(block_id, parent_id, height, bytes(size), needs_option, PROPOSER)


def line(count: int, **fields: bool) -> list[ParsedBlock]:
    found: list[ParsedBlock] = []
    for height in range(1, count + 1):
        parent_id = found[-1].block_id if found else ROOT
        found.append(block(f"block {height}", parent_id, height, **fields))
    return found


@settings(max_examples=cases(30))
@given(st.permutations(range(8)))
def test_blocks_follow_each_other_however_they_came(order: list[int]) -> None:
    blocks, buffer = line(8), Buffer()
    for at in order:
        assert buffer.add(blocks[at], ALICE, 0.0)
    assert [held.block for held in buffer.run_after(ROOT, 64)] == blocks
    assert [held.block for held in buffer.run_after(blocks[2].block_id, 3)] == blocks[3:6]
    assert buffer.run_after(blocks[-1].block_id, 3) == []


def test_a_block_is_kept_once() -> None:
    (one,), buffer = line(1), Buffer()
    assert buffer.add(one, ALICE, 0.0)
    assert not buffer.add(one, BOB, 1.0)
    assert [held.since for held in buffer.roots()] == [0.0]
    assert len(buffer) == 1


def test_a_run_ends_before_a_proposal_without_its_option() -> None:
    first, proposal, option = line(3)
    proposal = proposal._replace(needs_option=True)
    buffer = Buffer()
    for one in (first, proposal):
        buffer.add(one, ALICE, 0.0)
    assert [held.block for held in buffer.run_after(ROOT, 64)] == [first]
    assert buffer.run_after(first.block_id, 64) == []
    buffer.add(option, BOB, 0.0)
    assert [held.block for held in buffer.run_after(ROOT, 64)] == [first, proposal, option]
    # A pair is not taken apart by the number of blocks that are wanted.
    assert [held.block for held in buffer.run_after(ROOT, 2)] == [first, proposal, option]


def test_roots_are_the_blocks_whose_parents_are_missing() -> None:
    blocks, buffer = line(9), Buffer()
    for at in (1, 2, 5, 8):
        buffer.add(blocks[at], ALICE, 0.0)
    assert [held.block.height for held in buffer.roots()] == [2, 6, 9]


def test_a_block_is_dropped_with_all_that_follow_it() -> None:
    blocks, buffer = line(5), Buffer()
    for one in blocks:
        buffer.add(one, ALICE, 0.0)
    dropped = buffer.drop(blocks[2].block_id)
    assert dropped is not None
    assert dropped.block == blocks[2]
    assert [held.block for held in buffer.run_after(ROOT, 64)] == blocks[:2]
    assert buffer.drop(blocks[2].block_id) is None


def test_of_two_children_the_first_to_come_counts_until_it_is_dropped() -> None:
    one, other, buffer = block("one", ROOT, 1), block("other", ROOT, 1), Buffer()
    buffer.add(one, ALICE, 0.0)
    buffer.add(other, BOB, 0.0)
    assert [held.block for held in buffer.run_after(ROOT, 1)] == [one]
    buffer.drop(one.block_id)
    assert [held.block for held in buffer.run_after(ROOT, 1)] == [other]


def test_what_is_accepted_or_too_old_is_forgotten() -> None:
    blocks, buffer = line(6), Buffer()
    for at, one in enumerate(blocks):
        buffer.add(one, ALICE, float(at))
    buffer.forget_up_to(2)
    assert [held.block.height for held in buffer.roots()] == [3]
    buffer.forget_since(4.0)
    assert [held.since for held in buffer.roots()] == [4.0]
    assert len(buffer) == 2
    buffer.clear()
    assert (len(buffer), buffer.size, buffer.roots()) == (0, 0, [])


def test_a_full_buffer_takes_from_whoever_filled_it() -> None:
    buffer = Buffer(most_blocks=10)
    for at in range(10):
        buffer.add(block(f"flood {at}", ROOT, 100 + at), ALICE, 0.0)
    honest = line(3)
    for one in honest:
        assert buffer.add(one, BOB, 0.0)
    assert not buffer.add(block("flood again", ROOT, 200), ALICE, 0.0)
    assert len(buffer) == 10
    assert [held.block for held in buffer.run_after(honest[0].block_id, 9)] == honest[1:]


@settings(max_examples=cases(15))
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 400), st.booleans()), max_size=60))
def test_bytes_are_counted_and_bounded(arrivals: list[tuple[int, int, bool]]) -> None:
    buffer = Buffer(most_blocks=20, most_bytes=1000)
    for at, (height, size, mine) in enumerate(arrivals):
        buffer.add(block(f"{at}", ROOT, height, size=size), ALICE if mine else BOB, 0.0)
        assert len(buffer) <= 20
        assert buffer.size <= 1000
        assert buffer.size == sum(len(held.block.raw) for held in buffer.roots())


def unsigned(name: str, parent_id: ID, height: int) -> ParsedBlock:
    return block(name, parent_id, height)._replace(proposer=None)


def test_what_nobody_signed_waits_for_a_word_or_a_signed_child() -> None:
    first = unsigned("first", ROOT, 1)
    for vouch in ("word", "child"):
        buffer = Buffer()
        buffer.add(first, ALICE, 0.0)
        assert buffer.run_after(ROOT, 9) == []
        assert buffer.lacks_word(ROOT)
        if vouch == "word":
            assert buffer.tell(first.block_id, BOB)
            assert not buffer.tell(first.block_id, BOB)
        else:
            buffer.add(block("second", first.block_id, 2), ALICE, 0.0)
        assert buffer.run_after(ROOT, 9)[0].block == first
        assert not buffer.lacks_word(ROOT)
    assert not buffer.tell(ROOT, BOB)


def test_of_two_unsigned_children_the_one_that_somebody_vouches_for_counts() -> None:
    one, other, buffer = unsigned("one", ROOT, 1), unsigned("other", ROOT, 1), Buffer()
    buffer.add(one, ALICE, 0.0)
    buffer.add(other, ALICE, 0.0)
    buffer.tell(other.block_id, BOB)
    assert [held.block for held in buffer.run_after(ROOT, 9)] == [other]
    assert buffer.lacks_word(ROOT)


def test_an_option_takes_the_word_of_who_made_the_proposal() -> None:
    proposal = block("proposal", ROOT, 1, needs_option=True)
    option, buffer = unsigned("option", proposal.block_id, 2), Buffer()
    for one in (proposal, option):
        buffer.add(one, ALICE, 0.0)
    buffer.tell(option.block_id, BOB)
    assert buffer.run_after(ROOT, 9) == []
    assert buffer.lacks_word(ROOT)
    buffer.tell(option.block_id, PROPOSER)
    assert [held.block for held in buffer.run_after(ROOT, 9)] == [proposal, option]
    assert not buffer.lacks_word(ROOT)


def test_only_what_is_known_to_be_signed_is_undecided() -> None:
    blocks, buffer = line(2), Buffer()
    buffer.add(blocks[0], ALICE, 0.0)
    buffer.add(blocks[1], ALICE, 1.0, signed=True)
    assert [held.block for held in buffer.undecided()] == [blocks[1]]
