"""An exported user is imported with its password, completely or not at all."""

import pytest

from platform_app.wallet import sealing
from platform_app.wallet.errors import WalletError, WalletReason, WrongPassword
from platform_app.wallet.sealing import MAX_KEYS, VERSION, Cost, read_backup, write_backup
from tests.builders.platform import KEYS
from tests.builders.reasons import raises

PASSWORD = "some password"


@pytest.fixture
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "VERSION_1", Cost(passes=1, memory=64, lanes=1))


def test_keys_come_back_in_their_order() -> None:
    assert read_backup(write_backup(KEYS, PASSWORD), PASSWORD) == list(KEYS)


@pytest.mark.usefixtures("_cheap")
def test_a_user_without_keys_comes_back_too() -> None:
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
def test_half_a_backup_is_none(cut: int) -> None:
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
def test_what_is_no_key_is_refused(keys: list[bytes]) -> None:
    with raises(WalletReason.UNREADABLE_EXPORT, kind=WalletError):
        read_backup(write_backup(keys, PASSWORD), PASSWORD)


@pytest.mark.usefixtures("_cheap")
def test_a_user_has_at_most_5000_keys() -> None:
    keys = [number.to_bytes(32, "big") for number in range(1, MAX_KEYS + 2)]

    assert read_backup(write_backup(keys[1:], PASSWORD), PASSWORD) == keys[1:]
    with raises(WalletReason.UNREADABLE_EXPORT, kind=WalletError):
        read_backup(write_backup(keys, PASSWORD), PASSWORD)
