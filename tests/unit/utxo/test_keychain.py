"""The keys that sign for owners, which are never shown."""

import pytest

from primitives.hashing import sha256
from primitives.secp256k1 import InvalidPrivateKey, recover_address, sign_sha256
from tests.builders import utxos
from utxo.coins import Keychain, SigningOwners
from utxo.components import OutputOwners

ONE, TWO, THREE = utxos.ADDRESSES
KEY_1, KEY_2, KEY_3 = utxos.KEYS


def test_the_first_owners_sign_whatever_the_order_of_keys() -> None:
    owners = utxos.owners(ONE, TWO, THREE, threshold=2)

    assert Keychain.of([KEY_3, KEY_2, KEY_1]).signers_for(owners, 0) == SigningOwners(
        (0, 1), (ONE, TWO)
    )
    assert Keychain.of([KEY_3, KEY_2]).signers_for(owners, 0) == SigningOwners((1, 2), (TWO, THREE))


def test_too_few_keys_sign_nothing() -> None:
    owners = utxos.owners(ONE, TWO, THREE, threshold=2)

    assert Keychain.of([KEY_3]).signers_for(owners, 0) is None


def test_owners_sign_from_their_locktime_on() -> None:
    owners = utxos.owners(locktime=utxos.NOW)

    assert Keychain.of([KEY_1]).signers_for(owners, utxos.NOW - 1) is None
    assert Keychain.of([KEY_1]).signers_for(owners, utxos.NOW) == SigningOwners((0,), (ONE,))


def test_where_nobody_must_sign_nobody_does() -> None:
    nobody = OutputOwners(0, 0, ())

    assert Keychain.of([KEY_1]).signers_for(nobody, 0) == SigningOwners((), ())


def test_keys_are_known_by_their_addresses_in_the_given_order() -> None:
    assert Keychain.of([KEY_3, KEY_1, KEY_3]).addresses == (THREE, ONE)


def test_what_a_key_signs_is_its_address() -> None:
    digest = sha256(b"something")

    assert recover_address(digest, Keychain.of([KEY_1]).sign(digest, ONE)) == ONE


def test_each_address_signs_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    digest, signed = sha256(b"something"), []

    def counting(digest: bytes, key: bytes) -> bytes:
        signed.append(key)
        return sign_sha256(digest, key)

    monkeypatch.setattr("utxo.coins.sign_sha256", counting)
    keys = Keychain.of([KEY_1, KEY_2])

    signatures = list(keys.sign_inputs(digest, [(ONE,), (), (ONE, TWO)]))

    first, second = sign_sha256(digest, KEY_1), sign_sha256(digest, KEY_2)
    assert signatures == [(first,), (), (first, second)]
    assert signed == [KEY_1, KEY_2]


def test_bytes_that_are_no_key_are_refused() -> None:
    with pytest.raises(InvalidPrivateKey, match=r"^invalid private key$"):
        Keychain.of([bytes(32)])


def test_keys_do_not_show() -> None:
    shown = repr(Keychain.of([KEY_1]))

    assert shown == "Keychain()"
