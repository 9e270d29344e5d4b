"""Bloom filters: sizes, contents, and invalid bytes (p2p.md 5.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network_app import bloom
from network_app.bloom import (
    EMPTY,
    BloomError,
    BloomFilter,
    BloomParameters,
    BloomReason,
    SaltedBloom,
)
from tests.builders.reasons import raises

KEY = bytes(range(32))

filters = st.builds(
    BloomFilter,
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=16).map(tuple),
    st.binary(min_size=1, max_size=64),
    st.binary(max_size=32),
)


def test_the_empty_filter_contains_nothing() -> None:
    assert bytes(EMPTY).hex() == "01" + "00" * 8 + "00"
    assert KEY not in EMPTY
    assert b"" not in EMPTY


@given(filters)
def test_filter_round_trips(known: BloomFilter) -> None:
    assert BloomFilter.parse(bytes(known), known.salt) == known


@given(st.binary(max_size=200), st.binary(max_size=40), st.binary(max_size=40))
def test_any_bytes_are_a_filter_or_refused(raw: bytes, salt: bytes, key: bytes) -> None:
    try:
        known = BloomFilter.parse(raw, salt)
    except bloom.BloomError:
        return
    assert bytes(known) == raw
    assert (key in known) == known.contains(key)


@pytest.mark.parametrize(("raw", "count"), [(b"", 0), (b"\0" * 10, 0), (b"\x11" + bytes(200), 17)])
def test_a_filter_has_one_to_sixteen_hashes(raw: bytes, count: int) -> None:
    with raises(
        BloomReason.HASH_COUNT,
        kind=BloomError,
        match=rf"^bloom filter has {count} hashes, not 1 to 16$",
    ):
        BloomFilter.parse(raw)


@pytest.mark.parametrize("hashes", [1, 16])
def test_a_filter_has_entries(hashes: int) -> None:
    raw = bytes([hashes]) + bytes(8 * hashes)
    assert BloomFilter.parse(raw + b"\0").entries == b"\0"
    for short in (raw, raw[:-1], raw[:1]):
        with raises(
            BloomReason.NO_ENTRIES, kind=BloomError, match=r"^bloom filter has no entries$"
        ):
            BloomFilter.parse(short)


def test_a_salt_has_at_most_32_bytes() -> None:
    assert BloomFilter.parse(bytes(EMPTY), bytes(32)).salt == bytes(32)
    with raises(
        BloomReason.SALT_TOO_LONG,
        kind=BloomError,
        match=r"^bloom filter has a salt of 33 bytes, more than 32$",
    ):
        BloomFilter.parse(bytes(EMPTY), bytes(33))


@pytest.mark.parametrize(
    ("expected", "rate", "parameters"),
    [
        # 128 keys, 1 in 1000: 1840.3 bits and 7 make 230 bytes; 230·8·ln 2/128 = 9.96
        (128, 0.001, BloomParameters(10, 230)),
        # 8192 keys, 1 in 100: 78520.0 bits and 7 make 9815 bytes; 9815·8·ln 2/8192 = 6.64
        (8192, 0.01, BloomParameters(7, 9815)),
        (1, 0.5, BloomParameters(6, 1)),
        (1, 0.999, BloomParameters(6, 1)),
        (1, 1e-9, BloomParameters(16, 6)),
        (1000, 0.9999, BloomParameters(1, 1)),
    ],
)
def test_sizes_follow_keys_and_rate(
    expected: int, rate: float, parameters: BloomParameters
) -> None:
    assert bloom.optimal_parameters(expected, rate) == parameters


def false_positive_rate(parameters: BloomParameters, count: int) -> float:
    """Return the share of false positives of a filter with `count` keys."""
    unset = (1 - 1 / (parameters.entries * 8)) ** (parameters.hashes * count)
    return float((1 - unset) ** parameters.hashes)


def test_a_filter_of_its_size_has_its_rate() -> None:
    parameters = bloom.optimal_parameters(8192, 0.01)

    assert false_positive_rate(parameters, 8192) == pytest.approx(0.01, rel=0.01)


@given(st.integers(1, 10_000), st.floats(0.0001, 0.2), st.floats(1, 4))
def test_the_capacity_is_the_last_count_below_the_rate(
    expected: int, target: float, factor: float
) -> None:
    parameters = bloom.optimal_parameters(expected, target)
    rate = target * factor
    count = bloom.capacity(parameters, rate)

    assert false_positive_rate(parameters, count) <= rate * (1 + 1e-9)
    assert false_positive_rate(parameters, count + 1) > rate * (1 - 1e-9)


@given(st.lists(st.binary(max_size=40), max_size=30))
def test_filter_has_no_false_negatives(keys: list[bytes]) -> None:
    growing = SaltedBloom(expected=128, target_rate=0.001, max_rate=0.01)
    for key in keys:
        growing.add(key)
    sent = BloomFilter.parse(*growing.marshal())

    assert sent == growing.finished()
    assert all(key in growing for key in keys)
    assert all(key in sent for key in keys)
    assert growing.count <= len(set(keys))


def test_a_key_is_added_once() -> None:
    growing = SaltedBloom(expected=128, target_rate=0.001, max_rate=0.01)

    assert KEY not in growing
    assert growing.add(KEY)
    assert not growing.add(KEY)
    assert growing.count == 1


def test_a_filter_is_full_before_it_is_wrong_too_often() -> None:
    growing = SaltedBloom(expected=128, target_rate=0.001, max_rate=0.01)
    number = 0
    while not growing.full:
        growing.add(number.to_bytes(4, "big"))
        number += 1

    parameters = bloom.optimal_parameters(128, 0.001)
    assert growing.count == bloom.capacity(parameters, 0.01) == 183
    strangers = [(number + 10_000).to_bytes(4, "big") for number in range(2000)]
    # 20 expected; more than 60 happens once in 10**12 runs
    assert sum(stranger in growing for stranger in strangers) <= 60


def test_two_filters_have_nothing_in_common() -> None:
    first, second = (SaltedBloom(expected=128, target_rate=0.001, max_rate=0.01) for _ in "ab")

    assert len(first.salt) == 32
    assert first.salt != second.salt
    assert first.marshal()[0] != second.marshal()[0]


def test_another_salt_is_another_filter() -> None:
    growing = SaltedBloom(expected=128, target_rate=0.001, max_rate=0.01, salt=b"salt")
    growing.add(KEY)
    raw, salt = growing.marshal()

    assert salt == b"salt"
    assert KEY in BloomFilter.parse(raw, salt)
    assert KEY not in BloomFilter.parse(raw, b"pepper")
