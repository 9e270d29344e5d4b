"""Signatures against eth_keys, and their ranges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from primitives import secp256k1
from primitives.evm import Hash
from primitives.hashing import keccak256
from primitives.secp256k1 import HALF_ORDER, ORDER, SignedDigest
from tests.builders.recursion import recursion_limit_kept

with recursion_limit_kept():
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
    with pytest.raises(secp256k1.SignatureOutOfRange):
        secp256k1.recover(DIGEST, r, s, y_parity)


def test_half_the_order_is_still_a_valid_s():
    assert secp256k1.is_valid(1, HALF_ORDER, 1)


def test_a_point_that_is_not_on_the_curve_belongs_to_nobody():
    with pytest.raises(secp256k1.RecoveryFailed, match="recovery failed"):
        secp256k1.recover(DIGEST, 5, 1, 0)


def test_many_are_recovered_at_once_and_a_bad_one_is_none():
    good = SignedDigest(DIGEST, *secp256k1.sign(DIGEST, KEY))
    bad = good._replace(r=5)
    address = secp256k1.address_of_private_key(KEY)
    assert secp256k1.recover_many([good, bad, good]) == [address, None, address]


@pytest.mark.parametrize("key", [b"", bytes(32), b"\x01" * 31, ORDER.to_bytes(32, "big")])
def test_what_is_no_private_key_does_not_sign(key):
    with pytest.raises(secp256k1.InvalidPrivateKey, match="invalid private key"):
        secp256k1.sign(DIGEST, key)
