"""Weighted sampling: random numbers are uniform, and elements are drawn by weight."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_app.proposervm.sampler import (
    MT19937_64,
    WeightedHeap,
    draw,
    draw_without_replacement,
    words,
)
from primitives.uint64 import Overflow
from tests.searching import cases

ALL = 2**64 - 1
HALF = 2**63


@pytest.mark.parametrize(
    ("largest", "given_words", "expected"),
    [
        pytest.param(0, [ALL], 0, id="nothing to choose from"),
        pytest.param(7, [0b1101], 0b101, id="a power of two takes the lowest bits"),
        pytest.param(ALL, [ALL], ALL, id="all 64 bits"),
        pytest.param(
            HALF, [ALL, HALF + 1, HALF], HALF, id="above a half, larger words are drawn anew"
        ),
        pytest.param(2, [HALF + 4], 1, id="else the highest bit is dropped"),
        pytest.param(2, [HALF - 1, HALF - 2, 5], 2, id="… and the last, incomplete multiple"),
        pytest.param(2, [HALF - 3], 2, id="… which begins right after the last complete one"),
    ],
)
def test_draw_consumes_generator_outputs(
    largest: int, given_words: list[int], expected: int
) -> None:
    left = iter(given_words)

    assert draw(left, largest) == expected
    assert next(left, None) is None


@settings(max_examples=cases(30), deadline=None)
@given(largest=st.integers(0, ALL), seed=st.integers(0, ALL))
def test_a_number_is_never_above_the_largest(largest: int, seed: int) -> None:
    assert 0 <= draw(words(MT19937_64, seed), largest) <= largest


@settings(max_examples=cases(30), deadline=None)
@given(total=st.integers(1, 50), seed=st.integers(0, ALL), data=st.data())
def test_draw_without_replacement_has_no_duplicates(
    total: int, seed: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(0, total))
    drawn = draw_without_replacement(words(MT19937_64, seed), total, count)

    assert len(drawn) == len(set(drawn)) == count
    assert all(0 <= number < total for number in drawn)


@settings(max_examples=cases(30), deadline=None)
@given(seed=st.integers(0, ALL), total=st.integers(1, ALL))
def test_first_of_several_draws_equals_a_single_draw(seed: int, total: int) -> None:
    (first,) = draw_without_replacement(words(MT19937_64, seed), total, 1)

    assert first == draw(words(MT19937_64, seed), total - 1)


@settings(max_examples=cases(30), deadline=None)
@given(weights=st.lists(st.integers(0, 9), max_size=12))
def test_an_element_is_found_as_often_as_it_weighs(weights: list[int]) -> None:
    heap = WeightedHeap(weights)
    found = Counter(heap.find(number) for number in range(heap.total))

    assert [found[place] for place in range(len(weights))] == weights


def test_heaviest_validator_is_sampled_first() -> None:
    heap = WeightedHeap([1, 3, 3, 2])

    # 1 · (2 · 0) (3): each node, then the half to its left, then the one to its right
    assert [heap.find(number) for number in range(9)] == [1, 1, 1, 2, 2, 2, 0, 3, 3]


def test_weights_together_have_at_most_64_bits() -> None:
    assert WeightedHeap([ALL - 1, 1]).total == ALL
    with pytest.raises(Overflow, match=r"^overflow$"):
        WeightedHeap([ALL, 1])
