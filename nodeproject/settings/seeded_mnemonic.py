"""Anvil's mnemonic of a seed: `anvil --mnemonic-seed-unsafe`. Pure.

Anvil 1.7.1 draws 16 bytes from `StdRng::seed_from_u64` of the crate rand 0.8 (ChaCha with 12 rounds, whose key is made from
the seed by PCG-XSH-RR), one byte from each 32-bit number. There are only 2^64 seeds, so the keys are no secret.
"""

from struct import pack, unpack
from typing import Final

_MULTIPLIER: Final = 6364136223846793005
_INCREMENT: Final = 11634580027462260723
_WORD: Final = 2**32 - 1
_DOUBLE_ROUNDS: Final = 6
_COLUMNS: Final = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
_DIAGONALS: Final = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def seeded_mnemonic(seed: int) -> str:
    """Return the twelve words of a seed of 64 bits."""
    # Slow to import, and seldom needed.
    from eth_account.hdaccount.mnemonic import Mnemonic
    from eth_account.types import Language

    entropy = bytes(word & 0xFF for word in _first_block(_key(seed)))
    return Mnemonic(Language.ENGLISH).to_mnemonic(entropy)


def _key(seed: int) -> bytes:
    """Return the key of 32 bytes that PCG-XSH-RR makes from a seed."""
    state, words = seed, []
    for _ in range(8):
        state = (state * _MULTIPLIER + _INCREMENT) % 2**64
        mixed = (((state >> 18) ^ state) >> 27) & _WORD
        words.append(_rotated(mixed, 32 - (state >> 59)))
    return pack("<8I", *words)


def _first_block(key: bytes) -> list[int]:
    """Return the first 16 numbers of ChaCha12 with a zero nonce."""
    begin = [*unpack("<4I", b"expand 32-byte k"), *unpack("<8I", key), 0, 0, 0, 0]
    state = begin.copy()
    for _ in range(_DOUBLE_ROUNDS):
        for positions in (*_COLUMNS, *_DIAGONALS):
            _quarter_round(state, *positions)
    return [(word + first) & _WORD for word, first in zip(state, begin, strict=True)]


def _quarter_round(state: list[int], a: int, b: int, c: int, d: int) -> None:
    for to, by, turned, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        state[to] = (state[to] + state[by]) & _WORD
        state[turned] = _rotated(state[turned] ^ state[to], bits)


def _rotated(word: int, bits: int) -> int:
    """Return a word of 32 bits, rotated to the left."""
    return ((word << bits) | (word >> (32 - bits))) & _WORD
