"""The tree of processing blocks: allowed additions, and the effects of acceptance and rejection."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chainvm.errors import DuplicateBlock, InvalidBlock, NotProcessing, UnknownParent
from chainvm.processing import ProcessingTree
from primitives.ids import ID


def _id(number: int) -> ID:
    return ID(number.to_bytes(32, "big"))


GENESIS = _id(0)


class NumberedBlock(NamedTuple):
    """A block that is nothing but its place."""

    parent: int
    number: int

    @property
    def block_id(self) -> ID:
        return _id(self.number)

    @property
    def parent_id(self) -> ID:
        return _id(self.parent)


Path = tuple[int, ...]
"""The effect of a numbered block: the numbers of all blocks up to it."""


def _tree(*edges: tuple[int, int]) -> ProcessingTree[NumberedBlock, Path]:
    """Return a tree of edges (parent, child) on top of genesis."""
    tree: ProcessingTree[NumberedBlock, Path] = ProcessingTree(GENESIS, ())
    for edge in edges:
        _add(tree, *edge)
    return tree


def _add(tree: ProcessingTree[NumberedBlock, Path], parent: int, number: int) -> None:
    before = tree.effect(_id(parent)) if tree.is_parent(_id(parent)) else ()
    tree.add(NumberedBlock(parent, number), (*before, number))


def _add_and_fail(tree: ProcessingTree[NumberedBlock, Path], *edges: tuple[int, int]) -> None:
    with tree.all_or_none():
        for edge in edges:
            _add(tree, *edge)
        raise InvalidBlock("no")


def _numbers(blocks: Iterable[NumberedBlock]) -> list[int]:
    return [block.number for block in blocks]


def test_a_block_on_an_undecided_parent_is_processing() -> None:
    tree = _tree((0, 1), (1, 2))
    assert tree.get(_id(2)) == NumberedBlock(1, 2)
    assert tree.effect(_id(2)) == (1, 2)
    assert _numbers(tree.branch(_id(2))) == [1, 2]
    assert tree.branch(GENESIS) == []
    assert tree.children(_id(1)) == (_id(2),)


def test_parents_are_processing_blocks_or_the_last_accepted() -> None:
    tree = _tree((0, 1))
    assert [tree.is_parent(_id(number)) for number in (0, 1, 2)] == [True, True, False]
    assert tree.effect(GENESIS) == ()
    with pytest.raises(NotProcessing):
        tree.effect(_id(2))


def test_a_block_is_added_once() -> None:
    with pytest.raises(DuplicateBlock, match="is processing already"):
        _tree((0, 1), (0, 1))


def test_a_block_on_an_unknown_parent_is_refused() -> None:
    with pytest.raises(UnknownParent) as caught:
        _tree((0, 1), (7, 2))
    assert (caught.value.block_id, caught.value.parent_id) == (_id(2), _id(7))


def test_a_child_of_a_decided_block_is_refused() -> None:
    tree = _tree((0, 1))
    tree.accept([_id(1)])
    with pytest.raises(UnknownParent):
        _add(tree, 0, 2)


def test_acceptance_rejects_siblings_and_descendants_parents_first() -> None:
    tree = _tree((0, 1), (0, 2), (2, 3), (3, 4), (1, 5))
    decision = tree.accept([_id(1)])
    assert _numbers(decision.blocks) == [1]
    assert _numbers(decision.rejected) == [2, 3, 4]
    assert (tree.last_accepted, tree.last_effect) == (_id(1), (1,))
    assert len(tree) == 1
    assert _numbers(tree.branch(_id(5))) == [5]


def test_blocks_are_accepted_together_with_their_effects() -> None:
    tree = _tree((0, 1), (1, 2), (1, 3), (0, 4))
    decision = tree.accept([_id(1), _id(2)])
    assert [effect for _, effect in decision.accepted] == [(1,), (1, 2)]
    assert _numbers(decision.rejected) == [4, 3]
    assert len(tree) == 0


def test_only_consecutive_blocks_after_the_last_accepted_are_accepted() -> None:
    tree = _tree((0, 1), (1, 2), (0, 3))
    with pytest.raises(NotProcessing, match="does not follow the last accepted"):
        tree.accept([_id(2)])
    with pytest.raises(NotProcessing, match="is not processing"):
        tree.accept([_id(1), _id(4)])
    with pytest.raises(NotProcessing, match="does not follow the last block"):
        tree.accept([_id(1), _id(3)])
    assert (len(tree), tree.last_accepted) == (3, GENESIS)


def test_a_rejected_block_takes_its_descendants_along() -> None:
    tree = _tree((0, 1), (1, 2), (0, 3))
    assert _numbers(tree.reject(_id(1))) == [1, 2]
    assert tree.children(GENESIS) == (_id(3),)
    with pytest.raises(NotProcessing):
        tree.reject(_id(2))


def test_preference_falls_back_when_its_block_is_rejected() -> None:
    tree = _tree((0, 1), (1, 2), (0, 3))
    tree.prefer(_id(2))
    tree.reject(_id(2))
    assert tree.preference == _id(1)
    tree.accept([_id(3)])
    assert tree.preference == _id(3)
    with pytest.raises(NotProcessing):
        tree.prefer(_id(1))


def test_a_kept_preference_outlives_an_acceptance_above_it() -> None:
    tree = _tree((0, 1), (1, 2))
    tree.prefer(_id(2))
    tree.accept([_id(1)])
    assert tree.preference == _id(2)


def test_a_line_of_any_length_is_rejected() -> None:
    tree = _tree((0, 1))
    for number in range(1, 5_000):
        tree.add(NumberedBlock(number, number + 1), ())
    assert len(tree.reject(_id(1))) == 5_000
    assert len(tree) == 0


def test_a_failure_takes_out_the_blocks_that_were_added_before_it() -> None:
    tree = _tree((0, 1))
    with pytest.raises(InvalidBlock, match="no"):
        _add_and_fail(tree, (1, 2), (2, 3), (0, 4))
    assert len(tree) == 1
    assert tree.children(GENESIS) == (_id(1),)
    with tree.all_or_none():
        _add(tree, 1, 2)
    assert len(tree) == 2


def test_a_reset_forgets_everything() -> None:
    tree = _tree((0, 1))
    tree.reset(_id(9), (9,))
    assert (len(tree), tree.last_accepted, tree.preference) == (0, _id(9), _id(9))
    _add(tree, 9, 10)
    assert tree.effect(_id(10)) == (9, 10)


class Tree(RuleBasedStateMachine):
    """Additions, acceptances, rejections and resets in any order, compared to a simple model."""

    def __init__(self) -> None:
        super().__init__()
        self.tree: ProcessingTree[NumberedBlock, Path] = ProcessingTree(GENESIS, ())
        self.accepted: list[int] = []
        self.parents: dict[int, int] = {}
        self.next = 1

    @property
    def last(self) -> int:
        return self.accepted[-1] if self.accepted else 0

    def _below(self, number: int) -> set[int]:
        found = {number}
        for child in sorted(self.parents):
            if self.parents[child] in found:
                found.add(child)
        return found

    def _line(self, number: int) -> list[int]:
        line = []
        while number != self.last:
            line.append(number)
            number = self.parents[number]
        return line[::-1]

    def _parents_first(self, blocks: list[int]) -> bool:
        return all(
            blocks.index(self.parents[block]) < blocks.index(block)
            for block in blocks
            if self.parents[block] in blocks
        )

    @rule(data=st.data())
    def add(self, data: Any) -> None:
        parent = data.draw(st.sampled_from([self.last, *self.parents]))
        _add(self.tree, parent, self.next)
        self.parents[self.next] = parent
        self.next += 1

    @rule(data=st.data(), count=st.integers(1, 4))
    def add_and_fail(self, data: Any, count: int) -> None:
        parents = [self.last, *self.parents]
        edges = []
        for number in range(self.next, self.next + count):
            edges.append((data.draw(st.sampled_from(parents)), number))
            parents.append(number)
        with pytest.raises(InvalidBlock):
            _add_and_fail(self.tree, *edges)

    @precondition(lambda self: self.parents)
    @rule(data=st.data())
    def prefer(self, data: Any) -> None:
        self.tree.prefer(_id(data.draw(st.sampled_from([*self.parents]))))

    @precondition(lambda self: self.parents)
    @rule(data=st.data())
    def accept(self, data: Any) -> None:
        """Accept a block with all its undecided ancestors."""
        line = self._line(data.draw(st.sampled_from([*self.parents])))
        keep = self._below(line[-1]) - {line[-1]}
        decision = self.tree.accept([_id(number) for number in line])
        assert _numbers(decision.blocks) == line
        gone = _numbers(decision.rejected)
        assert len(gone) == len(set(gone))
        assert set(gone) == set(self.parents) - keep - set(line)
        assert self._parents_first(gone)
        self.parents = {block: parent for block, parent in self.parents.items() if block in keep}
        self.accepted += line

    @precondition(lambda self: self.parents)
    @rule(data=st.data())
    def accept_what_does_not_follow(self, data: Any) -> None:
        """Try to accept any blocks; unless they are a line, nothing changes."""
        blocks = data.draw(st.lists(st.sampled_from([*self.parents]), min_size=1, max_size=3))
        if blocks != self._line(blocks[-1]):
            with pytest.raises(NotProcessing):
                self.tree.accept([_id(number) for number in blocks])

    @precondition(lambda self: self.parents)
    @rule(data=st.data())
    def reject(self, data: Any) -> None:
        chosen = data.draw(st.sampled_from([*self.parents]))
        gone = _numbers(self.tree.reject(_id(chosen)))
        assert set(gone) == self._below(chosen)
        assert self._parents_first(gone)
        self.parents = {block: up for block, up in self.parents.items() if block not in gone}

    @rule()
    def restart(self) -> None:
        self.tree.reset(_id(self.last), tuple(self.accepted))
        self.parents = {}

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        assert len(self.tree) == len(self.tree.effects()) == len(self.parents)
        assert self.tree.last_accepted == _id(self.last)
        assert self.tree.last_effect == tuple(self.accepted)
        for block, parent in self.parents.items():
            line = self._line(block)
            assert _id(block) in self.tree.children(_id(parent))
            assert _numbers(self.tree.branch(_id(block))) == line
            assert self.tree.effect(_id(block)) == (*self.accepted, *line)
        preferred = self.tree.preference
        assert self.tree.is_parent(preferred)


TestTree = Tree.TestCase
