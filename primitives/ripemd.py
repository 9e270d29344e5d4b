"""RIPEMD-160 in Python, for builds of OpenSSL that are without it. `hashing` chooses."""

from itertools import chain

_MASK = 0xFFFFFFFF
_START: tuple[int, ...] = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0)

# Which word of the block each of the 80 steps takes, in the left line and in the right one. Each
# round of 16 permutes the words of the round before by _RHO; the right line begins with 9i + 5.
_RHO = (7, 4, 13, 1, 10, 6, 15, 3, 12, 0, 9, 5, 2, 14, 11, 8)


def _rounds(words: tuple[int, ...]) -> tuple[int, ...]:
    rounds = [words]
    for _ in range(4):
        rounds.append(tuple(_RHO[word] for word in rounds[-1]))
    return tuple(chain.from_iterable(rounds))


_LEFT_WORDS = _rounds(tuple(range(16)))
_RIGHT_WORDS = _rounds(tuple((9 * i + 5) % 16 for i in range(16)))

# By how much a step rotates depends on its round and on the word that it takes.
_ROTATIONS = (
    (11, 14, 15, 12, 5, 8, 7, 9, 11, 13, 14, 15, 6, 7, 9, 8),
    (12, 13, 11, 15, 6, 9, 9, 7, 12, 15, 11, 13, 7, 8, 7, 7),
    (13, 15, 14, 11, 7, 7, 6, 8, 13, 14, 13, 12, 5, 5, 6, 9),
    (14, 11, 12, 14, 8, 6, 5, 5, 15, 12, 15, 14, 9, 9, 8, 6),
    (15, 12, 13, 13, 9, 5, 8, 6, 14, 11, 12, 11, 8, 6, 5, 5),
)
_LEFT_CONSTANTS = (0x00000000, 0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xA953FD4E)
_RIGHT_CONSTANTS = (0x50A28BE6, 0x5C4DD124, 0x6D703EF3, 0x7A6D76E9, 0x00000000)


def digest(data: bytes) -> bytes:
    """Return the hash, 20 bytes."""
    state = _START
    padding = b"\x80" + bytes((55 - len(data)) % 64) + (8 * len(data)).to_bytes(8, "little")
    padded = data + padding
    for start in range(0, len(padded), 64):
        state = _compress(state, padded[start : start + 64])
    return b"".join(word.to_bytes(4, "little") for word in state)


def _compress(state: tuple[int, ...], block: bytes) -> tuple[int, ...]:
    words = [int.from_bytes(block[i : i + 4], "little") for i in range(0, 64, 4)]
    left = _line(state, words, _LEFT_WORDS, _LEFT_CONSTANTS, mirrored=False)
    right = _line(state, words, _RIGHT_WORDS, _RIGHT_CONSTANTS, mirrored=True)
    return tuple(
        (state[(i + 1) % 5] + left[(i + 2) % 5] + right[(i + 3) % 5]) & _MASK for i in range(5)
    )


def _line(
    state: tuple[int, ...],
    words: list[int],
    order: tuple[int, ...],
    constants: tuple[int, ...],
    *,
    mirrored: bool,
) -> tuple[int, ...]:
    """Take the 80 steps of one line; the mirrored one has the mixing functions in reverse."""
    a, b, c, d, e = state
    for step, word in enumerate(order):
        turn = step // 16
        mixed = _mix(4 - turn if mirrored else turn, b, c, d)
        total = (a + mixed + words[word] + constants[turn]) & _MASK
        a, b, c, d, e = (
            e,
            (_rotate(total, _ROTATIONS[turn][word]) + e) & _MASK,
            b,
            _rotate(c, 10),
            d,
        )
    return a, b, c, d, e


def _mix(function: int, x: int, y: int, z: int) -> int:
    match function:
        case 0:
            return x ^ y ^ z
        case 1:
            return (x & y) | (~x & z)
        case 2:
            return (x | ~y) ^ z
        case 3:
            return (x & z) | (y & ~z)
        case _:
            return x ^ (y | ~z)


def _rotate(word: int, bits: int) -> int:
    return ((word << bits) | (word >> (32 - bits))) & _MASK
