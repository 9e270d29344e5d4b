"""Signatures compared to eth_keys, and the ranges of their values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from primitives import secp256k1
from primitives.evm import Hash
from primitives.hashing import keccak256
from primitives.keys import address_of
from primitives.recursion import recursion_limit_restored
from primitives.secp256k1 import HALF_ORDER, ORDER, SignedDigest
from tests.builders.reasons import raises

with recursion_limit_restored():
    from eth_keys import keys

private_keys = st.integers(min_value=1, max_value=ORDER - 1).map(lambda n: n.to_bytes(32, "big"))
digests = st.binary(min_size=32, max_size=32).map(Hash)
DIGEST = keccak256(b"digest")
KEY = b"\x01" * 32


@given(private_keys, digests)
def test_the_signer_is_recovered_and_is_the_address_that_eth_keys_derives(key, digest):
    signature = secp256k1.sign(digest, key)
    assert secp256k1.is_valid(*signature)
    address = keys.PrivateKey(key).public_key.to_canonical_address()
    assert secp256k1.recover(digest, *signature) == address
    assert secp256k1.address_of_private_key(key) == address


def test_a_signature_of_eth_keys_is_recovered():
    theirs = keys.PrivateKey(KEY).sign_msg_hash(DIGEST)
    public_key = secp256k1.recover_public_key(DIGEST, theirs.r, theirs.s, theirs.v)
    assert public_key == keys.PrivateKey(KEY).public_key.to_bytes()


@pytest.mark.parametrize(
    ("r", "s", "y_parity"),
    [
        (0, 1, 0),
        (ORDER, 1, 0),
        (1, 0, 0),
        (1, HALF_ORDER + 1, 0),
        (1, ORDER, 0),
        (1, 1, 2),
        (1, 1, -1),
        (2**300, 1, 0),
    ],
)
def test_values_outside_their_ranges_are_refused(r, s, y_parity):
    assert not secp256k1.is_valid(r, s, y_parity)
    with raises(secp256k1.SignatureReason.SIGNATURE_OUT_OF_RANGE, kind=secp256k1.SignatureError):
        secp256k1.recover(DIGEST, r, s, y_parity)


def test_half_the_order_is_still_a_valid_s():
    assert secp256k1.is_valid(1, HALF_ORDER, 1)


def test_recovery_with_a_point_off_the_curve_fails():
    with raises(
        secp256k1.SignatureReason.RECOVERY_FAILED,
        kind=secp256k1.SignatureError,
        match="recovery failed",
    ):
        secp256k1.recover(DIGEST, 5, 1, 0)


def test_batch_recovery_returns_none_for_a_bad_signature():
    good = SignedDigest(DIGEST, *secp256k1.sign(DIGEST, KEY))
    bad = good._replace(r=5)
    address = secp256k1.address_of_private_key(KEY)
    assert secp256k1.recover_many([good, bad, good]) == [address, None, address]


@pytest.mark.parametrize("key", [b"", bytes(32), b"\x01" * 31, ORDER.to_bytes(32, "big")])
def test_signing_with_invalid_key_is_refused(key):
    with pytest.raises(secp256k1.InvalidPrivateKey, match="invalid private key"):
        secp256k1.sign(DIGEST, key)


@given(private_keys, digests)
def test_a_signature_of_the_p_chain_names_its_signer(key, digest):
    signature = secp256k1.sign_sha256(digest, key)
    assert len(signature) == 65
    assert secp256k1.recover_address(digest, signature) == address_of(key)


def test_sign_and_sign_sha256_agree():
    r, s, y_parity = secp256k1.sign(DIGEST, KEY)
    expected = r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([y_parity])
    assert secp256k1.sign_sha256(DIGEST, KEY) == expected


@pytest.mark.parametrize("size", [0, 64, 66])
def test_a_signature_of_the_p_chain_has_65_bytes(size):
    with raises(
        secp256k1.SignatureReason.WRONG_SIGNATURE_LENGTH,
        kind=secp256k1.SignatureError,
        match=r"^invalid signature length$",
    ):
        secp256k1.recover_address(DIGEST, bytes(size))


@given(private_keys, digests)
def test_the_other_of_two_signatures_is_refused(key, digest):
    signature = secp256k1.sign_sha256(digest, key)
    s = ORDER - int.from_bytes(signature[32:64], "big")
    other = signature[:32] + s.to_bytes(32, "big") + bytes([signature[64] ^ 1])
    message = r"^signature was mutated from its original format$"
    with raises(
        secp256k1.SignatureReason.MUTATED_SIGNATURE, kind=secp256k1.SignatureError, match=message
    ):
        secp256k1.recover_address(digest, other)


@pytest.mark.parametrize(
    ("r", "s", "v"),
    [(5, 1, 0), (0, 1, 0), (1, 0, 0), (ORDER, 1, 0), (1, 1, 4), (1, 1, 27), (2**256 - 1, 1, 3)],
)
def test_unrecoverable_signature_is_refused(r, s, v):
    signature = r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([v])
    with raises(
        secp256k1.SignatureReason.INVALID_SIGNATURE,
        kind=secp256k1.SignatureError,
        match=r"^invalid signature$",
    ):
        secp256k1.recover_address(DIGEST, signature)


def test_half_the_order_is_still_no_mutation():
    signature = (1).to_bytes(32, "big") + HALF_ORDER.to_bytes(32, "big") + b"\0"
    assert len(secp256k1.recover_address(DIGEST, signature)) == 20


@pytest.mark.parametrize("key", [b"", bytes(32), b"\x01" * 33, ORDER.to_bytes(32, "big")])
def test_invalid_key_has_no_public_key_and_no_p_chain_signature(key):
    with pytest.raises(secp256k1.InvalidPrivateKey, match=r"^invalid private key$"):
        secp256k1.sign_sha256(DIGEST, key)
    with pytest.raises(secp256k1.InvalidPrivateKey, match=r"^invalid private key$"):
        secp256k1.compressed_public_key(key)
