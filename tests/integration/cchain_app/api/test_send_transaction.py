"""eth_sendTransaction and related methods: the node fills, signs and sends the transaction."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connections

from cchain_app.api.devnet import sending
from cchain_app.api.eth import transactions as eth_transactions
from jsonrpc.errors import JsonRpcError
from primitives.recursion import recursion_limit_restored
from tests.builders import bytecode
from tests.builders.cchain import JUNK_KEYS, SENDERS, authorization
from tests.builders.transactions import RECIPIENT, signed
from tests.integration.conftest import Chain, Rpc

pytestmark = pytest.mark.node_settings(profile="embedded")

with recursion_limit_restored():
    from eth_account import Account

GWEI = 10**9
COIN = 10**18
STRANGER = "0x" + "57" * 20
FIRST, SECOND = (f"0x{address.hex()}" for address in SENDERS[:2])
TO = f"0x{RECIPIENT.hex()}"


def refused(rpc: Rpc, method: str, *params: Any) -> JsonRpcError:
    with pytest.raises(JsonRpcError) as refusal:
        rpc(method, *params)
    return refusal.value


def send(rpc: Rpc, **members: Any) -> dict[str, Any]:
    """Send a transaction and return it as pending."""
    found: dict[str, Any] = rpc("eth_getTransactionByHash", rpc("eth_sendTransaction", members))
    return found


def deploy(chain: Chain, code: bytes) -> str:
    _, block = chain.do(to=None, data=bytecode.deploy_code(code), gas=500_000, value=0)
    (made,) = block.transactions
    return f"0x{bytecode.created(made.sender, made.nonce).hex()}"


def test_a_transaction_is_completed_signed_and_mined(rpc: Rpc, chain: Chain) -> None:
    sent = send(rpc, **{"from": SECOND, "to": TO, "value": hex(COIN)})

    assert (sent["type"], sent["from"], sent["nonce"], sent["gas"]) == (
        "0x2", SECOND, "0x0", "0x5208",
    )  # fmt: skip
    tip = int(sent["maxPriorityFeePerGas"], 16)
    assert int(sent["maxFeePerGas"], 16) == 2 * int(rpc("eth_baseFee"), 16) + tip
    raw = rpc("eth_getRawTransactionByHash", sent["hash"])
    assert Account.recover_transaction(raw).lower() == SECOND
    chain.mine()
    assert rpc("eth_getTransactionReceipt", sent["hash"])["status"] == "0x1"
    assert rpc("eth_getBalance", TO) == hex(COIN)


@pytest.mark.parametrize("method", ["eth_sendTransaction", "eth_sendUnsignedTransaction"])
def test_automined_transaction_is_answered_with_its_block(
    rpc: Rpc, chain: Chain, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    waited_for = []

    def wait(_: Any, sent: bytes, __: int) -> None:
        waited_for.append(f"0x{sent.hex()}")
        chain.mine()

    monkeypatch.setattr(sending, "wait_for_receipt", wait)
    rpc("evm_setAutomine", True)

    sent = rpc(method, {"from": FIRST, "to": TO})
    assert rpc("eth_getTransactionReceipt", sent)["status"] == "0x1"
    assert waited_for == [sent]

    rpc(method, {"from": FIRST, "to": TO, "nonce": "0x5"})  # behind a nonce gap
    rpc("evm_setAutomine", False)
    rpc(method, {"from": SECOND, "to": TO})
    assert waited_for == [sent]


def test_the_first_account_sends_where_none_is_named(rpc: Rpc, chain: Chain) -> None:
    assert send(rpc, to=TO)["from"] == FIRST
    assert send(rpc, to=TO, **{"from": None})["from"] == FIRST


def test_nonces_follow_pending_transactions(rpc: Rpc, chain: Chain) -> None:
    sent = [send(rpc, to=TO, **{"from": FIRST}) for _ in range(3)]

    assert [other["nonce"] for other in sent] == ["0x0", "0x1", "0x2"]
    assert len({item["hash"] for item in sent}) == 3
    assert len(chain.mine().transactions) == 3


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({}, 2),
        ({"gasPrice": hex(3 * GWEI)}, 0),
        ({"gasPrice": hex(3 * GWEI), "accessList": [{"address": TO, "storageKeys": []}]}, 1),
        ({"accessList": [{"address": TO, "storageKeys": []}]}, 2),
        ({"type": "0x0"}, 0),
        ({"type": "0x1"}, 1),
        ({"type": "0x1", "gasPrice": hex(3 * GWEI)}, 1),
        ({"type": "0x2"}, 2),
    ],
)
def test_transaction_type_follows_from_its_members(
    rpc: Rpc, chain: Chain, members: dict[str, Any], kind: int
) -> None:
    sent = send(rpc, to=TO, **members)

    assert (sent["type"], sent["chainId"]) == (hex(kind), "0xa868")
    block = chain.mine()
    assert [transaction.type for transaction in block.transactions] == [kind]
    assert block.receipts[0].succeeded


def test_set_code_transaction_has_authorizations(rpc: Rpc, chain: Chain) -> None:
    given = authorization(3, RECIPIENT, 0)
    member = {
        "chainId": hex(given.chain_id),
        "address": f"0x{given.address.hex()}",
        "nonce": hex(given.nonce),
        "yParity": hex(given.y_parity),
        "r": hex(given.r),
        "s": hex(given.s),
    }
    sent = send(rpc, to=TO, authorizationList=[member])

    assert sent["type"] == "0x4"
    chain.mine()
    assert rpc("eth_getCode", f"0x{SENDERS[3].hex()}") == f"0xef0100{RECIPIENT.hex()}"


def test_a_pending_transaction_is_sent_again_with_another_price_and_limit(
    rpc: Rpc, chain: Chain
) -> None:
    members = {"from": FIRST, "to": TO, "gas": "0x5208", "nonce": "0x0"}
    price = rpc("eth_gasPrice")
    rpc("eth_sendTransaction", {**members, "gasPrice": price})

    dearer = hex(2 * int(price, 16))
    again = rpc("eth_resend", {**members, "gasPrice": price}, dearer, "0x7530")

    sent = rpc("eth_getTransactionByHash", again)
    assert (sent["type"], sent["gasPrice"], sent["gas"], sent["nonce"]) == (
        "0x0", dearer, "0x7530", "0x0",
    )  # fmt: skip
    assert [f"0x{transaction.hash.hex()}" for transaction in chain.mine().transactions] == [again]


def test_type_2_transaction_becomes_legacy_with_a_gas_price(rpc: Rpc, chain: Chain) -> None:
    members = {
        "from": FIRST,
        "to": TO,
        "gas": "0x5208",
        "nonce": "0x0",
        "maxFeePerGas": hex(5 * GWEI),
    }
    members |= {
        "maxPriorityFeePerGas": hex(GWEI),
        "accessList": [{"address": TO, "storageKeys": []}],
    }
    members["gas"] = "0x7530"
    rpc("eth_sendTransaction", members)

    again = rpc("eth_resend", members, hex(6 * GWEI))

    assert rpc("eth_getTransactionByHash", again)["type"] == "0x0"
    assert len(chain.mine().transactions) == 1


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"nonce": None}, "missing transaction nonce in transaction spec"),
        ({"value": "0x2"}, "transaction 0x[0-9a-f]{64} not found"),
        ({"nonce": "0x1"}, "transaction 0x[0-9a-f]{64} not found"),
        ({"from": SECOND}, "transaction 0x[0-9a-f]{64} not found"),
        ({"from": STRANGER}, "unknown account"),
    ],
)
def test_resend_requires_a_pending_transaction(
    rpc: Rpc, chain: Chain, changed: dict[str, Any], words: str
) -> None:
    members = {"from": FIRST, "to": TO, "gas": "0x5208", "nonce": "0x0", "gasPrice": hex(3 * GWEI)}
    rpc("eth_sendTransaction", members)

    refusal = refused(rpc, "eth_resend", {**members, **changed}, hex(9 * GWEI))

    assert refusal.code == -32000
    assert re.search(words, refusal.message)
    assert len(chain.mine().transactions) == 1


@pytest.mark.parametrize("to", [{}, {"to": None}, {"to": ""}], ids=["absent", "null", "empty"])
def test_without_a_recipient_a_contract_is_made(rpc: Rpc, chain: Chain, to: dict[str, Any]) -> None:
    code = bytecode.deploy_code(bytecode.COUNTER)
    sent = send(rpc, input=f"0x{code.hex()}", data="0x00", **to)
    chain.mine()

    made = rpc("eth_getTransactionReceipt", sent["hash"])["contractAddress"]
    assert rpc("eth_getCode", made) == f"0x{bytecode.COUNTER.hex()}"


def test_failing_transaction_is_not_sent(rpc: Rpc, chain: Chain) -> None:
    to = deploy(chain, bytecode.ECHO_REVERT)
    refusal = refused(rpc, "eth_sendTransaction", {"to": to, "data": "0xdeadbeef"})

    assert (refusal.code, refusal.message, refusal.data) == (
        3, "execution reverted", "0xdeadbeef",
    )  # fmt: skip
    assert rpc("txpool_status") == {"pending": "0x0", "queued": "0x0"}


def test_failing_transaction_with_gas_is_sent(rpc: Rpc, chain: Chain) -> None:
    sent = send(rpc, to=deploy(chain, bytecode.ECHO_REVERT), data="0xdeadbeef", gas="0x30d40")
    chain.mine()

    assert rpc("eth_getTransactionReceipt", sent["hash"])["status"] == "0x0"


@pytest.mark.parametrize(
    ("members", "code", "words"),
    [
        ({"from": STRANGER}, -32000, "unknown account"),
        ({"chainId": "0x1"}, -32000, "chainId does not match node's (have=1, want=43112)"),
        ({"value": hex(10**24)}, -32000, "insufficient funds for transfer"),
        (
            {"value": hex(10**24), "gas": "0x5208"},
            -32000,
            "insufficient funds for gas * price + value: balance",
        ),
        ({"gas": "0x5207"}, -32000, "intrinsic gas too low: gas 20999, minimum needed 21000"),
        ({"gas": hex(10**9)}, -32000, "exceeds block gas limit"),
        (
            {"gasPrice": "0x1", "maxFeePerGas": "0x1"},
            -32000,
            "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified",
        ),
        (
            {"maxFeePerGas": "0x1", "maxPriorityFeePerGas": "0x2"},
            -32000,
            "maxFeePerGas (1) < maxPriorityFeePerGas (2)",
        ),
        ({"gas": "0x5208", "gasPrice": "0x1"}, -32000, "transaction underpriced"),
        ({"to": None}, -32000, "contract creation without any data provided"),
        (
            {"blobVersionedHashes": ["0x01" + "00" * 31]},
            -32000,
            "missing sidecar in blob transaction",
        ),
        ({"type": "0x5"}, -32602, "transaction type not supported"),
        ({"type": "0x3"}, -32000, "missing sidecar in blob transaction"),
        ({"type": "0x2", "gasPrice": "0x1"}, -32602, "a transaction of type 2 has no gasPrice"),
        ({"type": "0x0", "maxFeePerGas": "0x1"}, -32602, "type 0 has no maxFeePerGas"),
        (
            {"type": "0x0", "accessList": [{"address": TO, "storageKeys": []}]},
            -32602,
            "type 0 has no accessList",
        ),
        ({"type": "0x4"}, -32000, "set code tx must have at least one authorization tuple"),
        ({"nonce": "latest"}, -32602, "hex string without 0x prefix"),
    ],
)
def test_invalid_transaction_is_refused_with_a_message(
    rpc: Rpc, chain: Chain, members: dict[str, Any], code: int, words: str
) -> None:
    refusal = refused(rpc, "eth_sendTransaction", {"to": TO, **members})

    assert refusal.code == code
    assert words in refusal.message
    assert rpc("txpool_status") == {"pending": "0x0", "queued": "0x0"}


def test_a_nonce_that_was_named_is_kept(rpc: Rpc, chain: Chain) -> None:
    ahead = send(rpc, to=TO, nonce="0x2")
    assert rpc("txpool_status") == {"pending": "0x0", "queued": "0x1"}
    again = refused(rpc, "eth_sendTransaction", {"to": TO, "nonce": "0x2"})
    assert (again.code, again.message) == (-32000, "already known")
    less = refused(rpc, "eth_sendTransaction", {"to": TO, "nonce": "0x2", "value": "0x1"})
    assert less.message == "replacement transaction underpriced"
    assert ahead["nonce"] == "0x2"

    send(rpc, to=TO)
    chain.mine()
    low = refused(rpc, "eth_sendTransaction", {"to": TO, "nonce": "0x0"})
    assert low.message == "nonce too low: next nonce 1, tx nonce 0"


def test_nonce_used_concurrently_is_skipped(
    rpc: Rpc, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = signed(key=JUNK_KEYS[0])
    asked: list[int] = []

    def behind(*_: object) -> int:
        asked.append(len(asked))
        if len(asked) == 1:
            chain.send(own)
        return asked[-1]

    monkeypatch.setattr("cchain_app.selectors.pool.next_nonce", behind)

    assert send(rpc, to=TO)["nonce"] == "0x1"
    assert len(asked) == 2


def test_many_at_once_have_nonces_of_their_own(rpc: Rpc, shared_chain: Chain) -> None:
    def one(_: int) -> str:
        try:
            found: str = rpc("eth_sendTransaction", {"from": FIRST, "to": TO})
            return found
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as threads:
        hashes = list(threads.map(one, range(12)))

    assert len(set(hashes)) == 12
    block = shared_chain.mine()
    assert [transaction.nonce for transaction in block.transactions] == list(range(12))


def test_sync_waits_for_the_receipt(
    rpc: Rpc, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Patch the module's own name: other threads sleep too, and must not make blocks here.
    mining = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: chain.mine())
    monkeypatch.setattr(eth_transactions, "time", mining)

    receipt = rpc("eth_sendTransactionSync", {"to": TO}, 20_000)

    assert (receipt["status"], receipt["blockNumber"]) == ("0x1", "0x1")


def test_sync_gives_up_and_leaves_it_waiting(rpc: Rpc, chain: Chain) -> None:
    refusal = refused(rpc, "eth_sendTransactionSync", {"to": TO}, 1)

    assert refusal.code == 4
    assert rpc("eth_getTransactionByHash", refusal.data)["blockHash"] is None


def test_signing_gives_the_envelope_and_sends_nothing(rpc: Rpc, chain: Chain) -> None:
    raw = rpc("eth_signTransaction", {"from": SECOND, "to": TO, "value": "0x5"})

    assert Account.recover_transaction(raw).lower() == SECOND
    assert rpc("txpool_status") == {"pending": "0x0", "queued": "0x0"}
    sent = rpc("eth_sendRawTransaction", raw)
    chain.mine()
    assert rpc("eth_getTransactionReceipt", sent)["status"] == "0x1"


def test_unsigned_transaction_needs_no_impersonation(rpc: Rpc, chain: Chain) -> None:
    rpc("eth_sendTransaction", {"to": STRANGER, "value": hex(COIN)})
    chain.mine()
    sent = rpc("eth_sendUnsignedTransaction", {"from": STRANGER, "to": TO, "value": "0x7"})
    chain.mine()

    assert rpc("eth_getTransactionByHash", sent)["from"] == STRANGER
    assert rpc("eth_getTransactionReceipt", sent)["status"] == "0x1"
    assert STRANGER not in rpc("eth_accounts")


def test_unsigned_transaction_requires_a_sender(rpc: Rpc, chain: Chain) -> None:
    refusal = refused(rpc, "eth_sendUnsignedTransaction", {"to": TO})
    assert refusal.code == -32602
    assert "missing required field 'from'" in refusal.message
