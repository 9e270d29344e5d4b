"""keystore.createUser, deleteUser, listUsers, exportUser, importUser."""

from typing import Any

import pytest

from jsonrpc.errors import JsonRpcError
from tests.integration.platform_app.api.conftest import EWOQ_TEXT, USER
from tests.integration.platform_app.conftest import Rpc, refusal


def test_users_are_created_and_deleted(keystore: Rpc) -> None:
    assert keystore("keystore.listUsers") == {"users": []}
    assert keystore("keystore.createUser", **USER) == {}
    assert keystore("keystore.listUsers") == {"users": ["alice"]}
    assert keystore("keystore.deleteUser", **USER) == {}
    assert keystore("keystore.listUsers") == {"users": []}


@pytest.mark.parametrize("encoding", ["hex", "hexnc"])
def test_a_user_moves_with_the_keys(
    alice: dict[str, str], keystore: Rpc, rpc: Rpc, encoding: str
) -> None:
    exported = keystore("keystore.exportUser", **alice, encoding=encoding)
    assert exported["encoding"] == encoding
    keystore("keystore.deleteUser", **alice)

    other = {**alice, "username": "bob"}
    assert keystore("keystore.importUser", **other, **exported) == {}
    assert rpc("platform.listAddresses", **other) == {"addresses": [EWOQ_TEXT]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"username": ""}, "empty username"),
        ({"username": "u" * 1025}, "username exceeds maximum length of 1024 chars"),
        ({"password": ""}, "empty password"),
        ({"password": "p" * 1025}, "password exceeds maximum length of 1024 chars"),
        ({"password": "password"}, "password is too weak"),
        ({"username": None, "password": None}, "empty username"),
    ],
)
def test_users_that_cannot_be(keystore: Rpc, changes: dict[str, Any], words: str) -> None:
    assert refusal(keystore, "keystore.createUser", **{**USER, **changes}) == words


def test_a_name_is_taken_once(alice: dict[str, str], keystore: Rpc) -> None:
    assert refusal(keystore, "keystore.createUser", **alice) == "user already exists: alice"
    exported = keystore("keystore.exportUser", **alice)
    assert refusal(keystore, "keystore.importUser", **alice, **exported) == (
        "user already exists: alice"
    )


def test_wrong_passwords_and_unknown_users(alice: dict[str, str], keystore: Rpc) -> None:
    wrong = {**alice, "password": "another"}
    words = 'incorrect password: user "alice"'
    assert refusal(keystore, "keystore.exportUser", **wrong) == words
    assert refusal(keystore, "keystore.deleteUser", **wrong) == words
    assert refusal(keystore, "keystore.deleteUser", username="eve", password="x") == (
        "user doesn't exist: eve"
    )


def test_guessing_is_slowed_down(alice: dict[str, str], keystore: Rpc) -> None:
    wrong = {**alice, "password": "another"}
    for _ in range(6):
        refusal(keystore, "keystore.exportUser", **wrong)
    assert "too many failed attempts" in refusal(keystore, "keystore.exportUser", **alice)


def test_invalid_import_of_a_user_is_refused(alice: dict[str, str], keystore: Rpc) -> None:
    bob = {**alice, "username": "bob"}
    assert refusal(keystore, "keystore.importUser", **bob, user="12") == (
        "couldn't decode 'user' to bytes: missing 0x prefix to hex encoding"
    )
    assert refusal(keystore, "keystore.importUser", **bob, user="0x1234", encoding="hexnc") == (
        "exported user is damaged or of an unknown version"
    )
    exported = keystore("keystore.exportUser", **alice)["user"]
    wrong = {"username": "bob", "password": "another"}
    assert refusal(keystore, "keystore.importUser", **wrong, user=exported) == (
        'incorrect password: user "bob"'
    )


def test_arguments_of_another_form(keystore: Rpc) -> None:
    for changes in ({"username": 5}, {"password": ["x"]}):
        with pytest.raises(JsonRpcError, match="couldn't unmarshal an argument"):
            keystore("keystore.createUser", **{**USER, **changes})


def test_no_secret_is_in_errors_or_logs(
    alice: dict[str, str], keystore: Rpc, rpc: Rpc, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = {**alice, "password": "top secret passphrase"}
    key = "PrivateKey-secretsecretsecret"
    words = [
        refusal(keystore, "keystore.exportUser", **wrong),
        refusal(rpc, "platform.listAddresses", **wrong),
        refusal(rpc, "platform.importKey", **alice, privateKey=key),
    ]
    assert not any("secret" in text for text in words + caplog.messages)
