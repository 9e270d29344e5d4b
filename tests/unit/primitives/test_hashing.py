"""RIPEMD-160 with and without OpenSSL; the other hashes come from libraries."""

import hashlib
from typing import Any

import pytest

from primitives import hashing, rlp
from tests.builders.modules import module_with

# From the publication of RIPEMD-160.
PUBLISHED = {
    b"": "9c1185a5c5e9fc54612808977ee8f548b2258d31",
    b"a": "0bdc9d2d256b3ee9daae347be6f4dc835a467ffe",
    b"abc": "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc",
    b"message digest": "5d0689ef49d2fae572b881b123a85ffa21595f36",
    b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq": (
        "12a053384a9c0c88e405a06c27dcf49ada62eb2b"
    ),
    b"1234567890" * 8: "9b752e45573d4b39f4dbd3323cab82bf63326bfb",
    b"a" * 1_000: "aa69deee9a8922e92f8105e007f76110f381e9cf",
}


@pytest.fixture
def openssl_without_ripemd(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *_: Any, **__: Any) -> None:
        raise ValueError(f"unsupported hash type {name}")

    monkeypatch.setattr(hashing, "hashlib", module_with(hashlib, new=refuse))


@pytest.mark.parametrize("data", PUBLISHED, ids=len)
def test_ripemd_has_the_published_digests(data: bytes) -> None:
    assert hashing.ripemd160(data).hex() == PUBLISHED[data]


@pytest.mark.usefixtures("openssl_without_ripemd")
@pytest.mark.parametrize("data", PUBLISHED, ids=len)
def test_ripemd_has_them_where_openssl_has_none(data: bytes) -> None:
    assert hashing.ripemd160(data).hex() == PUBLISHED[data]


def test_hash160_is_ripemd_of_sha() -> None:
    assert hashing.hash160(b"abc") == hashing.ripemd160(hashlib.sha256(b"abc").digest())


def test_the_empty_hashes_are_of_nothing() -> None:
    assert hashing.keccak256(b"") == hashing.EMPTY_HASH
    assert hashing.keccak256(rlp.encode_bytes(b"")) == hashing.EMPTY_ROOT
