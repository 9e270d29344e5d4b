"""Bloom filters: vectors of the reference implementation."""

from typing import Any

import pytest

from network_app.bloom import BloomFilter, add_hash, key_hash
from tests.conformance.pchain_vectors import cases

every_filter = pytest.mark.parametrize("case", cases("bloom_filter"))


@every_filter
def test_keys_are_hashed_with_the_salt(case: dict[str, Any]) -> None:
    salt = bytes.fromhex(case["salt"])
    hashes = [key_hash(bytes.fromhex(key), salt) for key in case["keys"]]

    assert hashes == [int(number) for number in case["keyHashes"]]


@every_filter
def test_a_filter_is_read_and_written(case: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["filterBytes"])
    known = BloomFilter.parse(raw, bytes.fromhex(case["salt"]))

    assert known.seeds == tuple(int(seed) for seed in case["hashSeeds"])
    assert bytes(known) == raw
    assert all(bytes.fromhex(key) in known for key in case["keys"])
    assert bytes(32) not in known


@every_filter
def test_a_filter_is_made_by_adding_its_keys(case: dict[str, Any]) -> None:
    made = BloomFilter.parse(bytes.fromhex(case["filterBytes"]))
    entries = bytearray(len(made.entries))
    for number in case["keyHashes"]:
        assert add_hash(entries, made.seeds, int(number))
        assert not add_hash(entries, made.seeds, int(number))

    assert entries == made.entries
