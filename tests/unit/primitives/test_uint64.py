"""64-bit addition and multiplication."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from primitives import uint64

numbers = st.integers(0, uint64.MAX)


@given(st.lists(numbers, max_size=4))
def test_a_sum_is_exact_or_refused(terms: list[int]) -> None:
    if sum(terms) <= uint64.MAX:
        assert uint64.add(*terms) == sum(terms)
        return
    with pytest.raises(uint64.Overflow, match=r"^overflow$"):
        uint64.add(*terms)


def test_largest_uint64_is_accepted() -> None:
    assert uint64.add(uint64.MAX - 1, 1) == uint64.MAX
    with pytest.raises(uint64.Overflow):
        uint64.add(uint64.MAX, 1)
