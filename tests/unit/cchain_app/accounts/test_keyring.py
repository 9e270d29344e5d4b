"""Keys of the mnemonic's accounts, compared to eth-account, and settings without accounts."""

import subprocess
import sys

import pytest

from cchain_app.accounts.keyring import (
    DERIVATION_PATH,
    EWOQ,
    MNEMONIC,
    NO_KEYS,
    Derivation,
    Keyring,
    KeyringError,
    KeyringReason,
    UnknownAccount,
    are_known,
    development_keyring,
)
from primitives.evm import Address
from primitives.keys import DEV_KEYS, EWOQ_KEY
from primitives.recursion import recursion_limit_restored
from primitives.secp256k1 import address_of_private_key
from tests.builders.cchain import JUNK_KEYS, SENDERS
from tests.builders.reasons import raises

with recursion_limit_restored():
    from eth_account import Account

OTHER = "legal winner thank year wave sausage worth useful legal winner thank yellow"
STRANGER = Address(b"\x57" * 20)


def by_eth_account(mnemonic: str, count: int, path: str = DERIVATION_PATH) -> dict[str, bytes]:
    Account.enable_unaudited_hdwallet_features()
    found = [
        Account.from_mnemonic(mnemonic, account_path=f"{path}{index}") for index in range(count)
    ]
    return {item.address.lower(): bytes(item.key) for item in found}


def shown(keyring: Keyring) -> dict[str, bytes]:
    return {f"0x{address.hex()}": keyring.key_of(address) for address in keyring if address != EWOQ}


def test_keyring_has_ten_mnemonic_accounts_then_ewoq() -> None:
    keyring = development_keyring(MNEMONIC, 10, DERIVATION_PATH)

    assert keyring.addresses[:5] == SENDERS
    assert [keyring.key_of(address) for address in SENDERS] == list(JUNK_KEYS)
    assert set(keyring.addresses) == set(DEV_KEYS)
    assert keyring.addresses[-1] == EWOQ == address_of_private_key(EWOQ_KEY)
    assert keyring.key_of(EWOQ) == EWOQ_KEY


@pytest.mark.parametrize(
    ("mnemonic", "count", "path"),
    [
        (MNEMONIC, 10, DERIVATION_PATH),
        (MNEMONIC, 3, DERIVATION_PATH),
        (MNEMONIC, 14, DERIVATION_PATH),
        (OTHER, 2, DERIVATION_PATH),
        (MNEMONIC, 2, "m/44'/9000'/0'/0/"),
    ],
    ids=["default", "fewer", "more", "another mnemonic", "another path"],
)
def test_keys_are_those_that_eth_account_derives(mnemonic: str, count: int, path: str) -> None:
    assert shown(development_keyring(mnemonic, count, path)) == by_eth_account(
        mnemonic, count, path
    )


@pytest.mark.parametrize(
    ("mnemonic", "path"),
    [(f"  {MNEMONIC.replace(' ', '   ')} ", DERIVATION_PATH), (MNEMONIC, DERIVATION_PATH[:-1])],
    ids=["blanks", "no slash at the end"],
)
def test_mnemonic_and_path_are_normalized(mnemonic: str, path: str) -> None:
    assert are_known(mnemonic, path)
    assert shown(development_keyring(mnemonic, 12, path)) == by_eth_account(MNEMONIC, 12)


def test_keyring_with_zero_mnemonic_accounts_has_ewoq_alone() -> None:
    assert development_keyring(MNEMONIC, 0, DERIVATION_PATH).addresses == (EWOQ,)


@pytest.mark.parametrize(
    "words", ["", "test junk", "test " * 12, OTHER.replace("yellow", "yelow"), OTHER + " yellow"]
)
def test_invalid_mnemonic_is_refused_without_repeating_it(words: str) -> None:
    with raises(
        KeyringReason.MNEMONIC, kind=KeyringError, match="NODE_MNEMONIC is not a BIP-39 mnemonic"
    ) as refusal:
        development_keyring(words, 1, DERIVATION_PATH)
    assert not set(words.split()) & set(str(refusal.value).split())
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__


@pytest.mark.parametrize("path", ["", "44'/60'/0'/0/", "m/x/", "m//"])
def test_invalid_derivation_path_is_refused(path: str) -> None:
    with raises(
        KeyringReason.DERIVATION_PATH,
        kind=KeyringError,
        match="it must be a path like m/44'/60'/0'/0/",
    ):
        development_keyring(MNEMONIC, 1, path)


def test_account_without_key_is_unknown() -> None:
    keyring = development_keyring(MNEMONIC, 1, DERIVATION_PATH)

    assert STRANGER not in keyring
    with pytest.raises(UnknownAccount, match=r"^unknown account$"):
        keyring.key_of(STRANGER)
    with pytest.raises(UnknownAccount):
        NO_KEYS.key_of(EWOQ)


def test_repr_shows_no_key() -> None:
    keyring = development_keyring(MNEMONIC, 2, DERIVATION_PATH)
    assert f"{keyring!r} {keyring}" == "<Keyring of 3 accounts> <Keyring of 3 accounts>"


@pytest.mark.parametrize("path", [DERIVATION_PATH, DERIVATION_PATH.removesuffix("/")])
def test_further_keys_are_derived_by_their_numbers(path: str) -> None:
    derivation = Derivation(OTHER, path)
    expected = list(by_eth_account(OTHER, 3).items())

    for number in (2, 0, 2):
        address, key = expected[number]
        assert derivation.key(number) == key
        assert f"0x{derivation.address(number).hex()}" == address
    assert f"{derivation!r} {derivation}" == "<Derivation> <Derivation>"


def test_derivation_from_invalid_mnemonic_or_path_fails() -> None:
    with raises(KeyringReason.MNEMONIC, kind=KeyringError, match="is not a BIP-39 mnemonic"):
        Derivation("test test", DERIVATION_PATH).key(0)
    with raises(KeyringReason.DERIVATION_PATH, kind=KeyringError, match="must be a path like"):
        Derivation(MNEMONIC, "m/x").key(0)


def test_the_known_keys_cost_no_import_of_libraries() -> None:
    code = (
        "import sys; from cchain_app.accounts.keyring import *; "
        "development_keyring(MNEMONIC, 10, DERIVATION_PATH); print('eth_account' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
