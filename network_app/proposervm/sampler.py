"""Weighted sampling as in the reference: numbers from random words, elements from numbers.

The steps are specified in p2p.md 11.3, from "Uniform draw" on.
"""

from collections.abc import Iterator, Sequence

from primitives import uint64

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
