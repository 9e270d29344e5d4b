"""Weighted sampling as in the reference, with the 32-bit and 64-bit Mersenne Twisters (p2p.md 11.3).

The steps are specified in p2p.md 11.3, from "Uniform draw" on: numbers from random words, elements from numbers.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from primitives import uint64


class Variant(NamedTuple):
    """The parameters of a Mersenne Twister, by their names in the literature."""

    w: int
    """Bits per word."""
    n: int
    """Words in the state."""
    m: int
    """Offset of the word that is mixed in."""
    r: int
    """Bits in the lower part of a word."""
    a: int
    """The matrix."""
    u: int
    d: int
    s: int
    b: int
    t: int
    c: int
    l: int  # noqa: E741 - its name
    f: int
    """The multiplier that expands the seed into the initial state."""


MT19937 = Variant(
    w=32, n=624, m=397, r=31, a=0x9908B0DF, u=11, d=0xFFFFFFFF, s=7, b=0x9D2C5680,
    t=15, c=0xEFC60000, l=18, f=1812433253,
)  # fmt: skip
MT19937_64 = Variant(
    w=64, n=312, m=156, r=31, a=0xB5026F5AA96619E9, u=29, d=0x5555555555555555, s=17,
    b=0x71D67FFFEDA60000, t=37, c=0xFFF7EEE000000000, l=43, f=6364136223846793005,
)  # fmt: skip


def words(variant: Variant, seed: int) -> Iterator[int]:
    """Yield the generator's words for a seed; only the lowest bits of the seed are used.

    The state is expanded lazily, because drawing a proposer takes only a word or two.
    """
    mask = (1 << variant.w) - 1
    lower = (1 << variant.r) - 1
    upper = mask ^ lower
    size, middle = variant.n, variant.m
    state = [seed & mask]
    _grow(state, variant, middle)
    for step in count():
        if len(state) < size:
            _grow(state, variant, 1)
        place = step % size
        mixed = (state[place] & upper) | (state[(step + 1) % size] & lower)
        state[place] = (
            state[(step + middle) % size] ^ (mixed >> 1) ^ (variant.a if mixed & 1 else 0)
        )
        yield _tempered(state[place], variant)


def _grow(state: list[int], variant: Variant, more: int) -> None:
    """Append up to `more` words to the initial state."""
    multiplier, shift, mask = variant.f, variant.w - 2, (1 << variant.w) - 1
    last, size = state[-1], len(state)
    for place in range(size, min(size + more, variant.n)):
        last = (multiplier * (last ^ (last >> shift)) + place) & mask
        state.append(last)


def _tempered(word: int, variant: Variant) -> int:
    word ^= (word >> variant.u) & variant.d
    word ^= (word << variant.s) & variant.b
    word ^= (word << variant.t) & variant.c
    return word ^ (word >> variant.l)


def words_of_64(seed: int) -> Iterator[int]:
    """Yield 64-bit words from the 32-bit generator, the higher half first."""
    halves = words(MT19937, seed)
    return (high << 32 | low for high, low in zip(halves, halves, strict=False))


_HALF = 1 << 63


def draw(words: Iterator[int], largest: int) -> int:
    """Return a uniform random number from 0 to `largest` (below 2**64), drawn from 64-bit words."""
    size = largest + 1
    if size & largest == 0:
        return next(words) & largest
    if largest >= _HALF:
        return next(word for word in words if word <= largest)
    # words above the last whole multiple of size would make small results likelier
    last = _HALF - 1 - _HALF % size
    return next(word for word in _lower_bits(words) if word <= last) % size


def _lower_bits(words: Iterator[int]) -> Iterator[int]:
    for word in words:
        yield word & (_HALF - 1)


def draw_without_replacement(words: Iterator[int], total: int, count: int) -> list[int]:
    """Return `count` different numbers below `total`; `count` is at most `total`.

    It is a shuffle that stops early. Only the changed positions of the deck are stored.
    """
    deck: dict[int, int] = {}
    drawn = []
    for place in range(count):
        taken = place + draw(words, total - 1 - place)
        drawn.append(deck.get(taken, taken))
        deck[taken] = deck.get(place, place)
    return drawn


class WeightedHeap:
    """Finds the element at which a running sum of weights exceeds a number.

    The elements are summed in the order of a heap: the heaviest element first, then the subtrees below it.
    """

    def __init__(self, weights: Sequence[int]) -> None:
        """Take the weights of elements, which are identified by their index.

        Raises:
            Overflow: Their sum has more than 64 bits.
        """
        self.total = uint64.add(*weights)
        self._places = sorted(range(len(weights)), key=lambda place: (-weights[place], place))
        self._weights = [weights[place] for place in self._places]
        self._sums = list(self._weights)
        for place in range(len(weights) - 1, 0, -1):
            self._sums[(place - 1) // 2] += self._sums[place]

    def find(self, number: int) -> int:
        """Return the index of the element to which a number below the total belongs."""
        node = 0
        while number >= self._weights[node]:
            number -= self._weights[node]
            node = 2 * node + 1
            if number >= self._sums[node]:
                number -= self._sums[node]
                node += 1
        return self._places[node]
