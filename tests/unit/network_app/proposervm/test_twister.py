"""The Mersenne Twisters, compared to the numbers required by the C++ standard."""

from itertools import islice

import pytest

from network_app.proposervm.sampler import MT19937, MT19937_64, Variant, words, words_of_64

DEFAULT_SEED = 5489


@pytest.mark.parametrize(
    ("variant", "first", "ten_thousandth"),
    [
        pytest.param(MT19937, 3499211612, 4123659995, id="32 bits"),
        pytest.param(MT19937_64, 14514284786278117030, 9981545732273789042, id="64 bits"),
    ],
)
def test_outputs_match_the_cpp_standard(variant: Variant, first: int, ten_thousandth: int) -> None:
    drawn = list(islice(words(variant, DEFAULT_SEED), 10_000))

    assert drawn[0] == first
    assert drawn[-1] == ten_thousandth


def test_a_seed_counts_with_its_lowest_bits() -> None:
    assert next(words(MT19937, DEFAULT_SEED + (7 << 32))) == 3499211612
    assert next(words(MT19937_64, DEFAULT_SEED + (7 << 64))) == 14514284786278117030


def test_64_bit_output_combines_two_with_the_higher_first() -> None:
    high, low, high_again, low_again = islice(words(MT19937, DEFAULT_SEED), 4)

    assert list(islice(words_of_64(DEFAULT_SEED), 2)) == [
        high << 32 | low,
        high_again << 32 | low_again,
    ]
