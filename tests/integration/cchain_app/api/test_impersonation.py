"""Impersonation: accounts without a key, and contracts, send transactions under their own address only."""

from typing import Any

import pytest

from cchain_app import models
from cchain_app.selectors import blocks
from cchain_app.services import transactions
from cchain_app.txs.codec import decode_unsigned, recover_sender
from cchain_app.txs.signing import impersonate
from cchain_app.txs.transaction import TransactionReason
from jsonrpc.errors import JsonRpcError
from primitives.evm import Address
from tests.builders import bytecode
from tests.builders.cchain import JUNK_KEYS, SENDERS
from tests.builders.transactions import RECIPIENT, SENDER, signed, unsigned
from tests.integration.conftest import Chain, Rpc

pytestmark = pytest.mark.sqlite_only

COIN = 10**18
GWEI = 10**9
STRANGER = "0x" + "57" * 20
OTHER = "0x" + "58" * 20
TO = f"0x{RECIPIENT.hex()}"
FIRST = f"0x{SENDERS[0].hex()}"


def refused(rpc: Rpc, method: str, *params: Any) -> tuple[int, str]:
    with pytest.raises(JsonRpcError) as refusal:
        rpc(method, *params)
    return refusal.value.code, refusal.value.message


@pytest.fixture
def rich(chain: Chain) -> Chain:
    """A chain where two accounts without a key, and a contract at `CONTRACT`, have coins."""
    for place, to in enumerate((STRANGER, OTHER)):
        chain.send(
            signed(key=JUNK_KEYS[1], nonce=place, to=Address(bytes.fromhex(to[2:])), value=COIN)
        )
    code = bytecode.deploy_code(bytecode.COUNTER)
    chain.send(signed(key=JUNK_KEYS[2], to=None, data=code, gas=500_000, value=COIN))
    chain.mine()
    return chain


CONTRACT = f"0x{bytecode.created(SENDERS[2], 0).hex()}"


def test_an_impersonated_account_sends(rpc: Rpc, rich: Chain) -> None:
    assert rpc("anvil_impersonateAccount", STRANGER) is None
    sent = rpc("eth_sendTransaction", {"from": STRANGER, "to": TO, "value": "0x5"})
    waiting = rpc("eth_getTransactionByHash", sent)
    assert (waiting["from"], waiting["blockHash"]) == (STRANGER, None)
    block = rich.mine()

    found = rpc("eth_getTransactionByHash", sent)
    assert (found["from"], found["type"], found["nonce"]) == (STRANGER, "0x2", "0x0")
    assert found["blockHash"] == f"0x{block.hash.hex()}"
    receipt = rpc("eth_getTransactionReceipt", sent)
    assert (receipt["from"], receipt["status"]) == (STRANGER, "0x1")
    assert rpc("eth_getBalance", TO) == "0x5"
    assert rpc("eth_getTransactionCount", STRANGER) == "0x1"


def test_signature_names_the_sender_and_hash_is_that_of_the_bytes(rpc: Rpc, rich: Chain) -> None:
    rpc("hardhat_impersonateAccount", STRANGER)
    sent = rpc("eth_sendTransaction", {"from": STRANGER, "to": TO})
    found = rpc("eth_getTransactionByHash", sent)

    assert (found["r"], found["s"], found["yParity"]) == (STRANGER, STRANGER, "0x0")
    raw = bytes.fromhex(rpc("eth_getRawTransactionByHash", sent)[2:])
    assert decode_unsigned(raw).hash.hex() == sent[2:]
    assert recover_sender(decode_unsigned(raw)).hex() != STRANGER[2:]


@pytest.mark.parametrize(
    ("members", "kind", "v"),
    [
        ({"gasPrice": hex(3 * GWEI)}, "0x0", hex(35 + 2 * 43_112)),
        ({"gasPrice": hex(3 * GWEI), "accessList": [{"address": TO, "storageKeys": []}]}, "0x1", "0x0"),
        ({}, "0x2", "0x0"),
    ],
)  # fmt: skip
def test_impersonated_transaction_keeps_its_type(
    rpc: Rpc, rich: Chain, members: dict[str, Any], kind: str, v: str
) -> None:
    sent = rpc("eth_sendUnsignedTransaction", {"from": STRANGER, "to": TO, **members})
    rich.mine()

    found = rpc("eth_getTransactionByHash", sent)
    assert (found["type"], found["v"], found["chainId"]) == (kind, v, "0xa868")
    assert rpc("eth_getTransactionReceipt", sent)["status"] == "0x1"


def test_equal_transactions_of_two_senders_have_hashes_of_their_own(rpc: Rpc, rich: Chain) -> None:
    rpc("anvil_autoImpersonateAccount", True)
    hashes = [rpc("eth_sendTransaction", {"from": value, "to": TO}) for value in (STRANGER, OTHER)]
    block = rich.mine()

    assert len(set(hashes)) == 2
    assert {f"0x{transaction.sender.hex()}" for transaction in block.transactions} == {
        STRANGER,
        OTHER,
    }


def test_a_contract_sends_several_in_a_block(rpc: Rpc, rich: Chain) -> None:
    rpc("anvil_impersonateAccount", CONTRACT)
    hashes = [
        rpc("eth_sendTransaction", {"from": CONTRACT, "to": TO, "value": hex(value)})
        for value in (1, 2, 3)
    ]
    assert rpc("txpool_status") == {"pending": "0x3", "queued": "0x0"}
    rich.mine()

    assert [rpc("eth_getTransactionReceipt", block_hash)["status"] for block_hash in hashes] == [
        "0x1"
    ] * 3
    assert rpc("eth_getBalance", TO) == "0x6"


def test_impersonated_transaction_is_traced_with_its_sender(rpc: Rpc, rich: Chain) -> None:
    rpc("anvil_impersonateAccount", CONTRACT)
    sent = rpc("eth_sendTransaction", {"from": CONTRACT, "to": TO, "value": "0x2"})
    block = rich.mine()

    call = rpc("debug_traceTransaction", sent, {"tracer": "callTracer"})
    assert (call["from"], call["to"], call["value"]) == (CONTRACT, TO, "0x2")
    (flat,) = rpc("trace_block", hex(block.number))
    assert flat["action"]["from"] == CONTRACT
    before = rpc("debug_traceTransaction", sent, {"tracer": "prestateTracer"})
    assert CONTRACT in before


def test_the_bytes_of_its_block_are_traced_as_of_its_sender(rpc: Rpc, rich: Chain) -> None:
    sent = rpc("eth_sendUnsignedTransaction", {"from": STRANGER, "to": TO, "value": "0x2"})
    block = rich.mine()
    raw = rpc("debug_getRawBlock", hex(block.number))

    (traced,) = rpc("debug_traceBlock", raw, {"tracer": "callTracer"})
    assert traced["txHash"] == sent
    assert traced["result"]["from"] == STRANGER


def test_all_of_it_survives_a_restart(rpc: Rpc, rich: Chain) -> None:
    rpc("anvil_impersonateAccount", STRANGER)
    rpc("anvil_autoImpersonateAccount", True)
    mined = rpc("eth_sendTransaction", {"from": STRANGER, "to": TO})
    rich.mine()
    waiting = rpc("eth_sendTransaction", {"from": CONTRACT, "to": TO})

    rich.forget()

    assert rpc("eth_accounts")[11:] == [STRANGER]
    assert rpc("eth_getTransactionByHash", mined)["from"] == STRANGER
    assert rpc("eth_getTransactionByHash", waiting)["from"] == CONTRACT
    block = rich.mine()
    assert [f"0x{transaction.hash.hex()}" for transaction in block.transactions] == [waiting]
    assert rpc("debug_traceTransaction", mined, {"tracer": "callTracer"})["from"] == STRANGER
    again = rpc("eth_sendTransaction", {"from": OTHER, "to": TO})
    assert rpc("eth_getTransactionByHash", again)["from"] == OTHER


@pytest.mark.parametrize("mined", [False, True], ids=["while it waits", "after its block"])
def test_raw_impersonated_transaction_is_refused(rpc: Rpc, rich: Chain, *, mined: bool) -> None:
    sent = rpc("eth_sendUnsignedTransaction", {"from": STRANGER, "to": TO})
    raw = rpc("eth_getRawTransactionByHash", sent)
    if mined:
        rich.mine()

    words = "invalid sender: invalid transaction v, r, s values"
    assert refused(rpc, "eth_sendRawTransaction", raw) == (-32000, words)
    assert models.Transaction.objects.filter(raw=bytes.fromhex(raw[2:])).count() == mined


def test_forged_sender_is_refused(rpc: Rpc, rich: Chain) -> None:
    balance = rpc("eth_getBalance", FIRST)
    forged = impersonate(unsigned(value=COIN), SENDERS[0])
    recovered = recover_sender(decode_unsigned(forged.raw))
    rich.send(rich.make(to=recovered, value=COIN))  # fund the address recovered from the signature
    rich.mine()

    (outcome,) = transactions.submit(rich.runtime, [forged.raw])
    (gossiped,) = transactions.submit(rich.runtime, [forged.raw], gossiped=True)

    assert outcome.reason is TransactionReason.SIGNATURE_VALUES
    assert gossiped.reason is TransactionReason.SIGNATURE_VALUES
    assert rpc("eth_getBalance", FIRST) == balance


def test_account_after_impersonation_needs_a_key(rpc: Rpc, rich: Chain) -> None:
    rpc("anvil_impersonateAccount", STRANGER)
    assert rpc("anvil_stopImpersonatingAccount", STRANGER) is None

    members = {"from": STRANGER, "to": TO}
    assert refused(rpc, "eth_sendTransaction", members) == (-32000, "unknown account")
    assert STRANGER not in rpc("eth_accounts")


def test_auto_impersonation_can_be_turned_on_and_off(rpc: Rpc, rich: Chain) -> None:
    assert rpc("anvil_autoImpersonateAccount", True) is None
    assert rpc("hardhat_autoImpersonateAccount", True) is True
    rpc("eth_sendTransaction", {"from": OTHER, "to": TO})
    assert len(rpc("eth_accounts")) == 11
    rpc("anvil_autoImpersonateAccount", False)
    assert refused(rpc, "eth_sendTransaction", {"from": OTHER})[1] == "unknown account"
    assert models.Impersonation.objects.count() == 0


def test_ending_auto_impersonation_keeps_named_accounts(rpc: Rpc, rich: Chain) -> None:
    rpc("hardhat_impersonateAccount", STRANGER)
    rpc("anvil_autoImpersonateAccount", True)
    rpc("anvil_autoImpersonateAccount", False)

    assert rpc("eth_accounts")[11:] == [STRANGER]


def test_hardhat_methods_return_whether_something_changed(rpc: Rpc, chain: Chain) -> None:
    assert rpc("hardhat_impersonateAccount", STRANGER) is True
    assert rpc("hardhat_impersonateAccount", STRANGER) is True
    assert models.Impersonation.objects.count() == 1
    assert rpc("hardhat_stopImpersonatingAccount", STRANGER) is True
    assert rpc("hardhat_stopImpersonatingAccount", STRANGER) is False


def test_ganaches_names_do_the_same(rpc: Rpc, chain: Chain) -> None:
    assert rpc("evm_addAccount", STRANGER, "") is True
    assert rpc("evm_addAccount", STRANGER, "") is False
    assert rpc("evm_addAccount", FIRST, "") is False
    assert rpc("evm_removeAccount", STRANGER, "") is True
    assert rpc("evm_removeAccount", STRANGER, "") is False
    assert rpc("evm_unlockUnknownAccount", STRANGER) is True
    assert rpc("eth_accounts")[11:] == [STRANGER]
    assert rpc("evm_lockUnknownAccount", STRANGER) is True


def test_impersonated_account_with_key_signs(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_impersonateAccount", f"0x{SENDER.hex()}")
    sent = rpc("eth_sendTransaction", {"from": f"0x{SENDER.hex()}", "to": TO})
    raw = bytes.fromhex(rpc("eth_getRawTransactionByHash", sent)[2:])

    assert recover_sender(decode_unsigned(raw)) == SENDER


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        ("anvil_impersonateAccount", [], "missing value for required argument 0"),
        ("anvil_impersonateAccount", ["0x12"], "hex string has length 2, want 40"),
        ("hardhat_stopImpersonatingAccount", [7], "cannot unmarshal non-string"),
        ("anvil_autoImpersonateAccount", ["true"], "cannot unmarshal string into Go value"),
        ("hardhat_autoImpersonateAccount", [1], "cannot unmarshal number into Go value"),
    ],
)
def test_invalid_arguments_are_refused_with_a_message(
    rpc: Rpc, chain: Chain, method: str, params: list[Any], words: str
) -> None:
    code, message = refused(rpc, method, *params)
    assert code == -32602
    assert words in message
    assert models.Impersonation.objects.count() == 0


def test_without_coins_it_sends_nothing(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_impersonateAccount", STRANGER)
    code, message = refused(
        rpc, "eth_sendTransaction", {"from": STRANGER, "to": TO, "gas": "0x5208"}
    )

    assert code == -32000
    assert message.startswith("insufficient funds for gas * price + value")
    assert blocks.head(chain.evm).number == 0
