"""personal_newAccount: the next account of the mnemonic, which the node then signs for."""

from typing import Any

import pytest

from cchain_app import models
from cchain_app.accounts.keyring import DERIVATION_PATH, MNEMONIC
from cchain_app.services import accounts
from cchain_app.txs.codec import decode_unsigned, recover_sender
from jsonrpc.errors import JsonRpcError
from primitives.recursion import recursion_limit_restored
from tests.builders.node_settings import updated
from tests.builders.transactions import RECIPIENT
from tests.integration.conftest import Chain, Rpc

pytestmark = pytest.mark.sqlite_only

with recursion_limit_restored():
    from eth_account import Account
    from eth_account.messages import encode_defunct

OTHER = "legal winner thank year wave sausage worth useful legal winner thank yellow"
TO = f"0x{RECIPIENT.hex()}"


def derived(number: int, mnemonic: str = MNEMONIC) -> Any:
    Account.enable_unaudited_hdwallet_features()
    return Account.from_mnemonic(mnemonic, account_path=f"{DERIVATION_PATH}{number}")


def address_of(number: int, mnemonic: str = MNEMONIC) -> str:
    return str(derived(number, mnemonic).address).lower()


def test_next_account_of_the_mnemonic_is_returned(rpc: Rpc, chain: Chain) -> None:
    assert rpc("personal_newAccount", "") == address_of(10)
    assert rpc("personal_newAccount", "pass words") == address_of(11)
    assert rpc("personal_newAccount") == address_of(12)
    assert rpc("eth_accounts")[11:] == [address_of(10), address_of(11), address_of(12)]
    assert rpc("eth_getBalance", address_of(10), "latest") == "0x0"


def test_number_of_created_accounts_is_limited(
    rpc: Rpc, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "MAX_ACCOUNTS", 2)
    made = [rpc("personal_newAccount"), rpc("personal_newAccount")]
    with pytest.raises(JsonRpcError) as refused:
        rpc("personal_newAccount")
    words = "2 accounts were created, which is the limit"
    assert (refused.value.code, refused.value.message) == (-32000, words)
    assert rpc("eth_accounts")[11:] == made


def test_new_account_signs(rpc: Rpc, chain: Chain) -> None:
    made = rpc("personal_newAccount", "")

    signature = bytes.fromhex(rpc("personal_sign", "0xdeadbeef", made)[2:])
    message = encode_defunct(bytes.fromhex("deadbeef"))
    assert Account.recover_message(message, signature=signature).lower() == made
    assert rpc("eth_sign", made, "0xdeadbeef") == "0x" + signature.hex()
    raw = rpc("eth_signTransaction", {"from": made, "to": TO, "gas": "0x5208"})
    assert recover_sender(decode_unsigned(bytes.fromhex(raw[2:]))).hex() == made[2:]


def test_created_account_signs_its_transactions(rpc: Rpc, chain: Chain) -> None:
    made = rpc("personal_newAccount", "")
    rpc("anvil_setBalance", made, hex(10**18))
    rpc("anvil_impersonateAccount", made)
    sent = rpc("eth_sendTransaction", {"from": made, "to": TO, "value": "0x5"})
    chain.mine()

    assert rpc("eth_getTransactionReceipt", sent)["status"] == "0x1"
    raw = bytes.fromhex(rpc("eth_getRawTransactionByHash", sent)[2:])
    assert recover_sender(decode_unsigned(raw)).hex() == made[2:]
    assert rpc("eth_accounts")[11:] == [made]  # listed once, although it is also impersonated


def test_new_account_is_unlocked_immediately(rpc: Rpc, chain: Chain) -> None:
    made = rpc("personal_newAccount", "a")

    assert rpc("personal_unlockAccount", made, "b", 0) is True
    assert rpc("evm_addAccount", made, "") is False
    assert rpc("evm_removeAccount", made, "") is False
    assert rpc("eth_accounts")[11:] == [made]


def test_new_account_survives_restart_and_revert(rpc: Rpc, chain: Chain) -> None:
    moment = rpc("evm_snapshot")
    made = rpc("personal_newAccount", "")
    rpc("evm_mine")
    rpc("evm_revert", moment)
    chain.forget()

    assert rpc("eth_accounts")[11:] == [made]
    assert len(rpc("eth_sign", made, "0x")) == 132
    assert rpc("personal_newAccount", "") == address_of(11)


def test_only_the_number_of_a_created_account_is_stored(rpc: Rpc, chain: Chain) -> None:
    rpc("personal_newAccount", "pass words")

    (row,) = models.CreatedAccount.objects.values()
    assert row == {"number": 10, "address": bytes.fromhex(address_of(10)[2:])}


def test_other_settings_make_the_new_account_a_mnemonic_account(
    rpc: Rpc, chain: Chain, settings: Any
) -> None:
    made = rpc("personal_newAccount", "")
    settings.NODE = updated(settings.NODE, accounts=12)

    assert rpc("eth_accounts").count(made) == 1
    assert rpc("personal_newAccount", "") == address_of(12)
    settings.NODE = updated(settings.NODE, accounts=1)
    assert rpc("eth_accounts")[2:] == [made, address_of(12)]
    assert rpc("personal_newAccount", "") == address_of(13)


def test_another_mnemonic_has_not_its_key(rpc: Rpc, chain: Chain, settings: Any) -> None:
    made = rpc("personal_newAccount", "")
    settings.NODE = updated(settings.NODE, mnemonic=OTHER)

    assert made not in rpc("eth_accounts")
    for method, *params in (
        ("eth_sign", made, "0x"),
        ("eth_sendTransaction", {"from": made}),
        ("personal_unlockAccount", made),
    ):
        with pytest.raises(JsonRpcError) as refusal:
            rpc(method, *params)
        assert (refusal.value.code, refusal.value.message) == (-32000, "unknown account")
    assert rpc("personal_newAccount", "") == address_of(11, OTHER)
    settings.NODE = updated(settings.NODE, mnemonic=MNEMONIC)
    assert made in rpc("eth_accounts")


def test_a_further_parameter_is_refused(rpc: Rpc, chain: Chain) -> None:
    with pytest.raises(JsonRpcError, match="too many arguments, want at most 1") as refusal:
        rpc("personal_newAccount", "", "")
    assert refusal.value.code == -32602
    assert not models.CreatedAccount.objects.exists()
