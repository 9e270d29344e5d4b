"""The keys that sign for owners, which are never shown."""

import pytest

from platform_app.wallet.keychain import Keychain, SigningOwners
from primitives.hashing import sha256
from primitives.secp256k1 import InvalidPrivateKey, recover_address
from tests.builders import platform

ONE, TWO, THREE = platform.ADDRESSES[:3]
KEY_1, KEY_2, KEY_3 = platform.KEYS[:3]


def test_the_first_owners_sign_whatever_the_order_of_keys() -> None:
    owners = platform.owners(ONE, TWO, THREE, threshold=2)

    assert Keychain.of([KEY_3, KEY_2, KEY_1]).signers_for(owners, 0) == SigningOwners(
        (0, 1), (ONE, TWO)
    )
    assert Keychain.of([KEY_3, KEY_2]).signers_for(owners, 0) == SigningOwners((1, 2), (TWO, THREE))


def test_too_few_keys_sign_nothing() -> None:
    owners = platform.owners(ONE, TWO, THREE, threshold=2)

    assert Keychain.of([KEY_3]).signers_for(owners, 0) is None


def test_owners_sign_from_their_locktime_on() -> None:
    owners = platform.owners(locktime=platform.NOW)

    assert Keychain.of([KEY_1]).signers_for(owners, platform.NOW - 1) is None
    assert Keychain.of([KEY_1]).signers_for(owners, platform.NOW) == SigningOwners((0,), (ONE,))


def test_where_nobody_must_sign_nobody_does() -> None:
    nobody = platform.owners()
    nobody = type(nobody)(0, 0, ())

    assert Keychain.of([KEY_1]).signers_for(nobody, 0) == SigningOwners((), ())


def test_keys_are_known_by_their_addresses_in_the_given_order() -> None:
    assert Keychain.of([KEY_3, KEY_1, KEY_3]).addresses == (THREE, ONE)


def test_what_a_key_signs_is_its_address() -> None:
    digest = sha256(b"something")

    assert recover_address(digest, Keychain.of([KEY_1]).sign(digest, ONE)) == ONE


def test_bytes_that_are_no_key_are_refused() -> None:
    with pytest.raises(InvalidPrivateKey, match=r"^invalid private key$"):
        Keychain.of([bytes(32)])


def test_keys_do_not_show() -> None:
    shown = repr(Keychain.of([KEY_1]))

    assert shown == "Keychain()"
