"""The sampled validators: units of stake, none drawn twice."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from network_app.snowman.polls import sample
from primitives.ids import NodeID


def _node(number: int) -> NodeID:
    return NodeID(number.to_bytes(20, "big"))


weights = st.dictionaries(st.integers(0, 2**32).map(_node), st.integers(1, 2**62), max_size=8)


@given(weights=weights, k=st.integers(1, 20), seed=st.integers())
def test_a_sample_has_k_units_and_none_of_a_node_beyond_its_stake(
    weights: dict[NodeID, int], k: int, seed: int
) -> None:
    drawn = sample(weights, k, Random(seed))
    if sum(weights.values()) < k:
        assert drawn is None
        return
    assert drawn is not None
    assert drawn.total() == k
    assert all(number <= weights[node_id] for node_id, number in drawn.items())


def test_sample_of_the_whole_stake_draws_all_units() -> None:
    stakes = {_node(1): 3, _node(2): 17}
    assert sample(stakes, 20, Random(1)) == Counter(stakes)


def test_sample_without_stake_is_none() -> None:
    assert sample({}, 1, Random(1)) is None


def test_nodes_are_drawn_by_their_stake() -> None:
    stakes = {_node(1): 1_000, _node(2): 3_000}
    random = Random(7)
    drawn = sum((sample(stakes, 20, random) or Counter() for _ in range(500)), Counter[NodeID]())
    assert 7_200 < drawn[_node(2)] < 7_800
