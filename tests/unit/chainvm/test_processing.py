"""The tree of processing blocks: allowed additions, and the effects of acceptance and rejection."""

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chainvm.errors import DuplicateBlock, NotProcessing, UnknownParent
from chainvm.processing import ProcessingTree
from primitives.ids import ID


def _id(number: int) -> ID:
    return ID(number.to_bytes(32, "big"))


GENESIS = _id(0)


def _tree(*edges: tuple[int, int]) -> ProcessingTree[int]:
    """Return a tree of edges (parent, child) on top of genesis; a block's entry is its number."""
    tree: ProcessingTree[int] = ProcessingTree(GENESIS)
    for parent, child in edges:
        tree.add(_id(child), _id(parent), child)
    return tree


def test_a_block_on_an_undecided_parent_is_processing() -> None:
    tree = _tree((0, 1), (1, 2))
    assert tree.get(_id(2)) == 2
    assert tree.line(_id(2)) == [1, 2]
    assert tree.line(GENESIS) == []
    assert tree.children(_id(1)) == (_id(2),)


def test_a_block_is_added_once() -> None:
    with pytest.raises(DuplicateBlock, match="is processing already"):
        _tree((0, 1), (0, 1))


def test_a_block_on_an_unknown_parent_is_refused() -> None:
    with pytest.raises(UnknownParent) as caught:
        _tree((0, 1), (7, 2))
    assert (caught.value.block_id, caught.value.parent_id) == (_id(2), _id(7))


def test_a_child_of_a_decided_block_is_refused() -> None:
    tree = _tree((0, 1))
    tree.accept(_id(1))
    with pytest.raises(UnknownParent):
        tree.add(_id(2), GENESIS, 2)


def test_acceptance_rejects_siblings_and_what_follows_them_parents_first() -> None:
    tree = _tree((0, 1), (0, 2), (2, 3), (3, 4), (1, 5))
    assert tree.accept(_id(1)) == [2, 3, 4]
    assert tree.last_accepted == _id(1)
    assert len(tree) == 1
    assert tree.line(_id(5)) == [5]


def test_only_a_child_of_the_last_accepted_block_is_accepted() -> None:
    tree = _tree((0, 1), (1, 2))
    with pytest.raises(NotProcessing, match="does not follow the last accepted"):
        tree.accept(_id(2))
    with pytest.raises(NotProcessing, match="is not processing"):
        tree.accept(_id(3))
    assert len(tree) == 2


def test_a_rejected_block_takes_its_descendants_along() -> None:
    tree = _tree((0, 1), (1, 2), (0, 3))
    assert tree.reject(_id(1)) == [1, 2]
    assert tree.children(GENESIS) == (_id(3),)
    with pytest.raises(NotProcessing):
        tree.reject(_id(2))


def test_the_preference_falls_back_where_its_block_goes() -> None:
    tree = _tree((0, 1), (1, 2), (0, 3))
    tree.prefer(_id(2))
    tree.reject(_id(2))
    assert tree.preference == _id(1)
    tree.accept(_id(3))
    assert tree.preference == _id(3)
    with pytest.raises(NotProcessing):
        tree.prefer(_id(1))


def test_a_kept_preference_outlives_an_acceptance_above_it() -> None:
    tree = _tree((0, 1), (1, 2))
    tree.prefer(_id(2))
    tree.accept(_id(1))
    assert tree.preference == _id(2)


def test_a_line_of_any_length_is_rejected() -> None:
    tree = _tree(*((number, number + 1) for number in range(5_000)))
    assert len(tree.reject(_id(1))) == 5_000
    assert len(tree) == 0


def test_beginning_anew_forgets_everything() -> None:
    tree = _tree((0, 1))
    tree.begin_at(_id(9))
    assert (len(tree), tree.last_accepted, tree.preference) == (0, _id(9), _id(9))
    tree.add(_id(10), _id(9), 10)


class Tree(RuleBasedStateMachine):
    """Additions, acceptances, rejections and resets in any order, compared to a simple model."""

    def __init__(self) -> None:
        super().__init__()
        self.tree: ProcessingTree[int] = ProcessingTree(GENESIS)
        self.last = 0
        self.parents: dict[int, int] = {}
        self.next = 1

    def _below(self, number: int) -> set[int]:
        found = {number}
        for child in sorted(self.parents):
            if self.parents[child] in found:
                found.add(child)
        return found

    @rule(data=st.data())
    def add(self, data: Any) -> None:
        parent = data.draw(st.sampled_from([self.last, *self.parents]))
        self.tree.add(_id(self.next), _id(parent), self.next)
        self.parents[self.next] = parent
        self.next += 1

    @precondition(lambda self: self.parents)
    @rule(data=st.data())
    def prefer(self, data: Any) -> None:
        self.tree.prefer(_id(data.draw(st.sampled_from([*self.parents]))))

    @precondition(lambda self: self.parents)
    @rule(data=st.data())
    def accept(self, data: Any) -> None:
        roots = [block for block, parent in self.parents.items() if parent == self.last]
        chosen = data.draw(st.sampled_from(roots))
        keep = self._below(chosen) - {chosen}
        gone = self.tree.accept(_id(chosen))
        assert set(gone) == set(self.parents) - keep - {chosen}
        assert all(
            gone.index(self.parents[block]) < gone.index(block)
            for block in gone
            if self.parents[block] in gone
        )
        self.parents = {block: parent for block, parent in self.parents.items() if block in keep}
        self.last = chosen

    @precondition(lambda self: self.parents)
    @rule(data=st.data())
    def reject(self, data: Any) -> None:
        chosen = data.draw(st.sampled_from([*self.parents]))
        gone = self._below(chosen)
        assert set(self.tree.reject(_id(chosen))) == gone
        self.parents = {block: up for block, up in self.parents.items() if block not in gone}

    @rule()
    def restart(self) -> None:
        self.tree.begin_at(_id(self.last))
        self.parents = {}

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        assert len(self.tree) == len(self.parents)
        assert self.tree.last_accepted == _id(self.last)
        for block, parent in self.parents.items():
            assert _id(block) in self.tree.children(_id(parent))
            assert self.tree.line(_id(block))[-1] == block
        preferred = self.tree.preference
        assert preferred in self.tree or preferred == _id(self.last)


TestTree = Tree.TestCase
