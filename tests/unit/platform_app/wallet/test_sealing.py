"""Encryption of secrets, and exported users."""

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from platform_app.wallet import sealing
from platform_app.wallet.errors import DamagedSeal, WalletError, WalletReason, WrongPassword
from platform_app.wallet.sealing import (
    COST,
    MAX_KEYS,
    VERSION,
    Cost,
    decoy,
    lock,
    read_backup,
    unlock,
    write_backup,
)
from tests.builders.modules import module_with
from tests.builders.platform import KEYS
from tests.builders.reasons import raises

CHEAP = Cost(passes=1, memory=64, lanes=1)
SECRET = bytes(range(32))


def test_password_hashing_cost_is_at_least_the_references() -> None:
    assert COST.memory >= 64 * 1024
    assert COST.passes >= 1
    assert COST.lanes >= 4


def test_sealed_secret_opens_after_unlocking() -> None:
    locked, cipher = lock("some password", COST)

    sealed = cipher.seal(SECRET, b"place")

    assert unlock(locked, "some password").open(sealed, b"place") == SECRET


@pytest.mark.parametrize("password", ["Some password", "some password ", "", "é"])
def test_another_password_opens_nothing(password: str) -> None:
    locked, _ = lock("some password", CHEAP)

    with pytest.raises(WrongPassword, match=r"^incorrect password$"):
        unlock(locked, password)


@given(st.text(st.characters(), max_size=40), st.binary(max_size=100), st.binary(max_size=20))
def test_any_password_locks_anything(password: str, secret: bytes, context: bytes) -> None:
    locked, cipher = lock(password, CHEAP)

    assert unlock(locked, password).open(cipher.seal(secret, context), context) == secret


def test_half_a_pair_of_characters_is_a_password_too() -> None:
    locked, _ = lock("\ud800", CHEAP)

    with pytest.raises(WrongPassword):
        unlock(locked, "\ud801")


def test_same_password_gets_a_new_salt() -> None:
    one, cipher = lock("some password", CHEAP)
    two, other = lock("some password", CHEAP)

    assert (one.salt, one.verifier) != (two.salt, two.verifier)
    with pytest.raises(DamagedSeal):
        other.open(cipher.seal(SECRET, b""), b"")


def test_same_secret_has_different_ciphertexts() -> None:
    _, cipher = lock("some password", CHEAP)

    assert cipher.seal(SECRET, b"") != cipher.seal(SECRET, b"")


def test_a_seal_does_not_open_in_another_place() -> None:
    _, cipher = lock("some password", CHEAP)

    with pytest.raises(DamagedSeal, match=r"^sealed bytes are damaged$"):
        cipher.open(cipher.seal(SECRET, b"mine"), b"yours")


def test_a_damaged_seal_does_not_open() -> None:
    _, cipher = lock("some password", CHEAP)
    sealed = cipher.seal(SECRET, b"")

    for place in range(len(sealed)):
        damaged = bytearray(sealed)
        damaged[place] ^= 1
        with pytest.raises(DamagedSeal):
            cipher.open(bytes(damaged), b"")


@pytest.mark.parametrize("size", [0, 11, 12, 27])
def test_half_a_seal_does_not_open(size: int) -> None:
    _, cipher = lock("some password", CHEAP)

    with pytest.raises(DamagedSeal):
        cipher.open(bytes(size), b"")


def test_decoy_lock_costs_the_same_work_and_never_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    derive = sealing.hash_secret_raw

    def recorded(*args: object, **costs: object) -> bytes:
        asked.append(costs)
        return derive(*args, **costs)

    monkeypatch.setattr(sealing, "hash_secret_raw", recorded)
    locked, _ = lock("some password", CHEAP)
    with pytest.raises(WrongPassword):
        unlock(locked, "another")
    with pytest.raises(WrongPassword):
        unlock(decoy(CHEAP), "some password")

    assert asked[0] == asked[1] == asked[2]


def test_verifiers_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, ...]] = []

    def differ(*both: bytes) -> bool:
        compared.append(both)
        return False

    monkeypatch.setattr(sealing, "hmac", module_with(hmac, compare_digest=differ))
    locked, _ = lock("some password", CHEAP)

    with pytest.raises(WrongPassword):
        unlock(locked, "some password")

    assert compared == [(locked.verifier, locked.verifier)]


def test_stored_lock_has_neither_password_nor_key() -> None:
    locked, cipher = lock("some password", CHEAP)

    kept = repr(locked).encode() + locked.salt + locked.verifier
    assert b"some password" not in kept
    assert cipher.key not in kept
    assert repr(cipher) == "Cipher()"


PASSWORD = "some password"


@pytest.fixture
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "VERSION_1", Cost(passes=1, memory=64, lanes=1))


def test_backup_keeps_the_order_of_keys() -> None:
    assert read_backup(write_backup(KEYS, PASSWORD), PASSWORD) == list(KEYS)


@pytest.mark.usefixtures("_cheap")
def test_backup_without_keys_round_trips() -> None:
    assert read_backup(write_backup([], PASSWORD), PASSWORD) == []


@pytest.mark.usefixtures("_cheap")
def test_a_key_that_is_there_twice_counts_once() -> None:
    written = write_backup([KEYS[1], KEYS[0], KEYS[1]], PASSWORD)

    assert read_backup(written, PASSWORD) == [KEYS[1], KEYS[0]]


@pytest.mark.usefixtures("_cheap")
def test_another_password_reads_nothing() -> None:
    with pytest.raises(WrongPassword):
        read_backup(write_backup(KEYS, PASSWORD), "another")


@pytest.mark.usefixtures("_cheap")
def test_no_key_and_no_password_shows() -> None:
    written = write_backup(KEYS, PASSWORD)

    assert PASSWORD.encode() not in written
    for key in KEYS:
        assert key not in written


@pytest.mark.usefixtures("_cheap")
def test_every_changed_byte_is_noticed() -> None:
    written = write_backup(KEYS[:1], PASSWORD)

    for place in range(len(written)):
        damaged = bytearray(written)
        damaged[place] ^= 1
        with pytest.raises(WalletError) as refused:
            read_backup(bytes(damaged), PASSWORD)
        assert refused.value.reason in {WalletReason.UNREADABLE_EXPORT, WalletReason.WRONG_PASSWORD}


@pytest.mark.usefixtures("_cheap")
@pytest.mark.parametrize("cut", [1, 16, 60, 90])
def test_truncated_backup_is_refused(cut: int) -> None:
    with raises(WalletReason.UNREADABLE_EXPORT, kind=WalletError) as refused:
        read_backup(write_backup(KEYS[:1], PASSWORD)[:-cut], PASSWORD)

    assert str(refused.value) == "exported user is damaged or of an unknown version"


@pytest.mark.parametrize("data", [b"", VERSION, b"\0\0" + bytes(100), b"\0\2" + bytes(100)])
def test_something_else_is_refused_before_a_key_is_derived(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(sealing, "unlock")

    with raises(WalletReason.UNREADABLE_EXPORT, kind=WalletError):
        read_backup(data, PASSWORD)


@pytest.mark.usefixtures("_cheap")
@pytest.mark.parametrize("keys", [[bytes(32)], [b"\xff" * 32], [b"\1" * 31]])
def test_backup_with_invalid_key_is_refused(keys: list[bytes]) -> None:
    with raises(WalletReason.UNREADABLE_EXPORT, kind=WalletError):
        read_backup(write_backup(keys, PASSWORD), PASSWORD)


@pytest.mark.usefixtures("_cheap")
def test_a_user_has_at_most_5000_keys() -> None:
    keys = [number.to_bytes(32, "big") for number in range(1, MAX_KEYS + 2)]

    assert read_backup(write_backup(keys[1:], PASSWORD), PASSWORD) == keys[1:]
    with raises(WalletReason.UNREADABLE_EXPORT, kind=WalletError):
        read_backup(write_backup(keys, PASSWORD), PASSWORD)
