"""eth_accounts, eth_sign, personal_sign, eth_signTypedData_v4: the node's accounts and their signatures."""

import json
from pathlib import Path
from typing import Any

import pytest

from jsonrpc.errors import JsonRpcError
from primitives.recursion import recursion_limit_restored
from tests.builders.cchain import JUNK_KEYS, SENDERS
from tests.builders.node_settings import updated
from tests.builders.transactions import SENDER
from tests.integration.conftest import Chain, Rpc
from tests.unit.cchain_app.accounts.test_messages import MAIL

pytestmark = pytest.mark.node_settings(profile="embedded")

with recursion_limit_restored():
    from eth_account import Account
    from eth_account.messages import encode_defunct, encode_typed_data

STRANGER = "0x" + "57" * 20
OTHER = "legal winner thank year wave sausage worth useful legal winner thank yellow"
FIRST = f"0x{SENDERS[0].hex()}"


def refused(rpc: Rpc, method: str, *params: Any) -> tuple[int, str]:
    with pytest.raises(JsonRpcError) as refusal:
        rpc(method, *params)
    return refusal.value.code, refusal.value.message


def test_accounts_are_the_mnemonics_then_ewoq_in_lower_case(rpc: Rpc, chain: Chain) -> None:
    found = rpc("eth_accounts")

    assert found[:5] == [f"0x{address.hex()}" for address in SENDERS]
    assert found[10:] == [f"0x{SENDER.hex()}"]
    assert rpc("eth_requestAccounts") == found


def test_settings_say_which_and_how_many(rpc: Rpc, db: None, settings: Any, tmp_path: Path) -> None:
    settings.NODE = updated(settings.NODE, data_dir=str(tmp_path), mnemonic=OTHER, accounts=2)
    Chain()

    Account.enable_unaudited_hdwallet_features()
    paths = [f"m/44'/60'/0'/0/{number}" for number in range(2)]
    derived = [Account.from_mnemonic(OTHER, account_path=path).address.lower() for path in paths]
    assert rpc("eth_accounts") == [*derived, f"0x{SENDER.hex()}"]


def test_impersonated_accounts_are_listed_in_order_of_request(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_impersonateAccount", STRANGER)
    rpc("anvil_impersonateAccount", "0x" + "11" * 20)
    rpc("anvil_impersonateAccount", FIRST)
    rpc("anvil_autoImpersonateAccount", True)

    assert rpc("eth_accounts")[11:] == [STRANGER, "0x" + "11" * 20]


def test_sign_gives_65_bytes_that_recover_to_the_account(rpc: Rpc, chain: Chain) -> None:
    text = rpc("eth_sign", FIRST, "0xdeadbeef")

    signature = bytes.fromhex(text[2:])
    assert len(signature) == 65
    assert signature[64] in {27, 28}
    message = encode_defunct(bytes.fromhex("deadbeef"))
    assert Account.recover_message(message, signature=signature).lower() == FIRST
    assert signature == bytes(Account.sign_message(message, JUNK_KEYS[0]).signature)


def test_personal_sign_has_the_message_first_and_needs_no_password(rpc: Rpc, chain: Chain) -> None:
    expected = rpc("eth_sign", FIRST, "0xdeadbeef")

    assert rpc("personal_sign", "0xdeadbeef", FIRST) == expected
    assert rpc("personal_sign", "0xdeadbeef", FIRST, "") == expected


@pytest.mark.parametrize("version", ["", "_v3", "_v4"])
@pytest.mark.parametrize("form", [dict, json.dumps], ids=["object", "text"])
def test_typed_data_is_signed(rpc: Rpc, chain: Chain, form: Any, version: str) -> None:
    text = rpc(f"eth_signTypedData{version}", FIRST, form(MAIL))

    signed = Account.sign_message(encode_typed_data(full_message=MAIL), JUNK_KEYS[0])
    assert text == "0x" + bytes(signed.signature).hex()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("eth_sign", [STRANGER, "0x"]),
        ("personal_sign", ["0x", STRANGER]),
        ("eth_signTypedData", [STRANGER, MAIL]),
        ("eth_signTypedData_v3", [STRANGER, MAIL]),
        ("eth_signTypedData_v4", [STRANGER, MAIL]),
        ("eth_signTransaction", [{"from": STRANGER, "to": FIRST}]),
        ("personal_unlockAccount", [STRANGER, "", 0]),
    ],
)
def test_signing_for_unknown_account_is_refused(
    rpc: Rpc, chain: Chain, method: str, params: list[Any]
) -> None:
    assert refused(rpc, method, *params) == (-32000, "unknown account")


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        ("eth_sign", [FIRST, "text"], "hex string without 0x prefix"),
        ("eth_sign", ["0x12", "0x"], "hex string has length 2, want 40"),
        ("personal_sign", [FIRST], "missing value for required argument 1"),
        ("eth_signTypedData_v4", [FIRST, "{"], "typed data is not JSON"),
        (
            "eth_signTypedData_v4",
            [FIRST, "[" + "[]," * 50_000 + "0]"],
            "typed data has more than 100000 values",
        ),
        ("eth_signTypedData_v4", [FIRST, "[]"], "cannot unmarshal array into Go value of type"),
        (
            "eth_signTypedData",
            [FIRST, [{"type": "string", "name": "text", "value": "hello"}]],
            "cannot unmarshal array into Go value of type",
        ),
        (
            "eth_signTypedData_v3",
            [
                FIRST,
                {**MAIL, "types": {**MAIL["types"], "Mail": [{"name": "to", "type": "Person[]"}]}},
            ],
            "invalid typed data: Mail.to is an array; eth_signTypedData_v4 signs arrays",
        ),
        ("eth_signTypedData_v4", [FIRST, 1], "cannot unmarshal number into Go value of type"),
        ("eth_signTypedData_v4", [FIRST, {}], "invalid typed data: types must be an object"),
        ("eth_signTypedData_v4", [FIRST, '{"a":' * 64], "typed data is not JSON"),
        ("eth_signTypedData_v4", [FIRST, '{"a":' * 65], "typed data is nested deeper than 64"),
        ("eth_signTypedData_v4", [FIRST, '{"a":' * 90_000], "typed data is nested deeper than 64"),
    ],
)
def test_invalid_arguments_are_refused_with_a_message(
    rpc: Rpc, chain: Chain, method: str, params: list[Any], words: str
) -> None:
    code, message = refused(rpc, method, *params)
    assert code == -32602
    assert words in message


def test_unlocking_an_available_account_returns_true(rpc: Rpc, chain: Chain) -> None:
    assert rpc("personal_unlockAccount", FIRST, "", 300) is True
    rpc("anvil_impersonateAccount", STRANGER)
    assert rpc("personal_unlockAccount", STRANGER) is True
