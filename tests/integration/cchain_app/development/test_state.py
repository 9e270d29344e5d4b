"""setBalance and related methods: visible immediately at the head, kept at that height, and part of the next block."""

import pytest

from jsonrpc.errors import JsonRpcError
from tests.builders.transactions import RECIPIENT, SENDER

pytestmark = pytest.mark.sqlite_only

SOMEBODY = "0x" + "5a" * 20


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def test_a_balance_is_there_at_once_and_the_block_before_does_not_see_it(rpc, chain):
    chain.do()
    assert rpc("anvil_setBalance", SOMEBODY, "0x0010") is None
    assert rpc("eth_getBalance", SOMEBODY, "latest") == "0x10"
    assert rpc("eth_getBalance", SOMEBODY, "0x1") == "0x10"
    assert rpc("eth_getBalance", SOMEBODY, "0x0") == "0x0"
    chain.do()
    rpc("hardhat_setBalance", SOMEBODY, 99)
    assert [rpc("eth_getBalance", SOMEBODY, hex(n)) for n in range(3)] == ["0x0", "0x10", "0x63"]


def test_edit_on_the_head_keeps_the_history_of_its_block(rpc, chain):
    chain.do(value=5)
    rpc("anvil_setBalance", hexed(RECIPIENT), "7")
    assert [rpc("eth_getBalance", hexed(RECIPIENT), hex(n)) for n in range(2)] == ["0x0", "0x7"]
    chain.do(value=5)
    assert [rpc("eth_getBalance", hexed(RECIPIENT), hex(n)) for n in range(3)] == [
        "0x0",
        "0x7",
        "0xc",
    ]


def test_hardhats_names_answer_true(rpc, chain):
    assert rpc("hardhat_setBalance", SOMEBODY, "0x1") is True
    assert rpc("hardhat_setNonce", SOMEBODY, "0x5") is True
    assert rpc("eth_getTransactionCount", SOMEBODY, "latest") == "0x5"


def test_code_and_slots_of_an_account_that_did_not_exist(rpc, chain):
    chain.do()
    runtime = bytes.fromhex("60035460005260206000f3")  # returns slot 3
    assert rpc("anvil_setStorageAt", SOMEBODY, "0x3", "0x" + "00" * 31 + "2a") is True
    rpc("anvil_setCode", SOMEBODY, runtime.hex())
    assert rpc("eth_getCode", SOMEBODY) == hexed(runtime)
    assert rpc("eth_call", {"to": SOMEBODY}, "latest") == "0x" + "00" * 31 + "2a"
    assert rpc("eth_getCode", SOMEBODY, "0x0") == "0x"
    assert rpc("eth_getStorageAt", SOMEBODY, "0x3", "0x0") == "0x" + "00" * 32
    chain.do()
    assert rpc("eth_call", {"to": SOMEBODY}, "latest") == "0x" + "00" * 31 + "2a"
    rpc("anvil_setStorageAt", SOMEBODY, 3, "0x" + "00" * 32)
    rpc("anvil_setCode", SOMEBODY, "0x")
    rpc("anvil_setBalance", SOMEBODY, 0)
    chain.do()
    assert rpc("eth_getCode", SOMEBODY) == "0x"


def test_balances_are_added_up_to_the_most(rpc, chain):
    rpc("anvil_addBalance", SOMEBODY, "0x5")
    rpc("tenderly_addBalance", [SOMEBODY, hexed(RECIPIENT)], "0x5")
    assert rpc("eth_getBalance", SOMEBODY) == "0xa"
    rpc("anvil_addBalance", SOMEBODY, "0x" + "f" * 64)
    assert rpc("eth_getBalance", SOMEBODY) == "0x" + "f" * 64
    chain.do()


def test_sender_with_a_set_balance_can_send(rpc, chain):
    rpc("anvil_setBalance", hexed(SENDER), "0xde0b6b3a7640000")
    chain.do(value=5)
    assert int(rpc("eth_getBalance", hexed(SENDER)), 16) < 10**18


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-1, "-1 is not a number"),
        (1.5, "a number was expected, not number"),
        (True, "a number was expected, not bool"),
        ("0xzz", "'0xzz' is not a number"),
        ("0x1" + "0" * 64, "is not a number"),
        ("1" * 78 + "9", "is not a number"),
    ],
)
def test_invalid_amounts_are_refused(rpc, chain, value, words):
    with pytest.raises(JsonRpcError) as refused:
        rpc("anvil_setBalance", SOMEBODY, value)
    assert refused.value.code == -32602
    assert words in refused.value.message
    assert rpc("eth_getBalance", SOMEBODY) == "0x0"


def test_a_value_of_a_slot_has_32_bytes(rpc, chain):
    with pytest.raises(
        JsonRpcError, match=r"exactly 32 bytes long\. Received 0x07, which is 1 bytes"
    ):
        rpc("hardhat_setStorageAt", SOMEBODY, "0x0", "0x07")


def test_restart(rpc, chain):
    chain.do()
    rpc("anvil_setBalance", SOMEBODY, 5)
    chain.forget()
    assert rpc("eth_getBalance", SOMEBODY) == "0x5"
    chain.do()
    assert rpc("eth_getBalance", SOMEBODY) == "0x5"


def test_account_with_set_storage_gets_nonce_1(rpc, chain):
    rpc("anvil_setStorageAt", SOMEBODY, 0, "0x" + "01" * 32)
    assert rpc("eth_getTransactionCount", SOMEBODY, "latest") == "0x1"
    chain.do(to=bytes.fromhex(SOMEBODY[2:]), value=0)
    assert rpc("eth_getStorageAt", SOMEBODY, "0x0", "latest") == "0x" + "01" * 32
    rpc("anvil_setNonce", SOMEBODY, 0)
    assert rpc("eth_getTransactionCount", SOMEBODY, "latest") == "0x1"
    chain.do(to=bytes.fromhex(SOMEBODY[2:]), value=0)
    assert rpc("eth_getStorageAt", SOMEBODY, "0x0", "latest") == "0x" + "01" * 32


def test_a_transaction_that_was_mined_is_not_taken_again_after_the_nonce_went_back(rpc, chain):
    made, _ = chain.do(value=5)
    rpc("anvil_setNonce", hexed(SENDER), "0x0")

    with pytest.raises(JsonRpcError, match="already known"):
        rpc("eth_sendRawTransaction", hexed(made.raw))

    chain.nonce = 0
    chain.do(value=6)
    assert rpc("eth_getBalance", hexed(RECIPIENT)) == "0xb"
    assert rpc("eth_getTransactionReceipt", hexed(made.hash))["blockNumber"] == "0x1"
