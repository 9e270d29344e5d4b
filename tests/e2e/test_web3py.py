"""web3.py 8 over HTTP against the running node."""

from collections.abc import Callable, Iterator
from typing import Any

import eth_abi
import pytest
import requests
from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_utils import function_signature_to_4byte_selector
from web3 import HTTPProvider, Web3
from web3.contract import Contract
from web3.exceptions import (
    ContractCustomError,
    ContractLogicError,
    ContractPanicError,
    TransactionNotFound,
    Web3RPCError,
)
from web3.middleware import SignAndSendRawMiddlewareBuilder

from tests.e2e.checked import CheckedNode

GWEI = 10**9
STRANGER = "0x000000000000000000000000000000000000dEaD"

Deploy = Callable[[], Contract]


@pytest.fixture
def w3(node: CheckedNode, account: LocalAccount) -> Iterator[Web3]:
    """A client that signs with the test's account."""
    with requests.Session() as session:
        client = Web3(HTTPProvider(node.url, session=session))
        client.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(account), layer=0)
        client.eth.default_account = account.address
        yield client


@pytest.fixture
def ledger(w3: Web3, contracts: dict[str, Any]) -> Contract:
    """A contract that the test's account has deployed with 1000 wei."""
    compiled = contracts["Ledger"]
    factory = w3.eth.contract(abi=compiled["abi"], bytecode=compiled["bytecode"])
    sent = factory.constructor("Main ledger").transact({"value": 1000})
    receipt = w3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)
    found: Contract = w3.eth.contract(receipt["contractAddress"], abi=compiled["abi"])
    return found


def mined(w3: Web3, sent: bytes) -> Any:
    return w3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)


def test_a_contract_is_deployed_and_called(w3: Web3, ledger: Contract) -> None:
    receipt = mined(w3, ledger.functions.store(7, 2**255).transact())
    assert receipt["status"] == 1
    assert ledger.functions.title().call() == "Main ledger"
    assert ledger.functions.slots(7).call() == 2**255
    assert ledger.functions.slots(7).call(block_identifier=receipt["blockNumber"] - 1) == 0
    (event,) = ledger.events.Stored().process_receipt(receipt)
    assert dict(event["args"]) == {"key": 7, "value": 2**255}


def test_kinds_of_reverts_are_distinguished(ledger: Contract, account: LocalAccount) -> None:
    with pytest.raises(ContractCustomError) as custom:
        ledger.functions.withdraw(5000).call()
    selector = function_signature_to_4byte_selector("Insufficient(address,uint256,uint256)")
    arguments = eth_abi.encode(["address", "uint256", "uint256"], [account.address, 5000, 1000])
    assert custom.value.data == "0x" + (selector + arguments).hex()
    with pytest.raises(ContractLogicError, match="execution reverted: must be positive"):
        ledger.functions.requirePositive(-1).call()
    with pytest.raises(ContractPanicError, match="Panic error 0x12"):
        ledger.functions.divide(1, 0).call()


def test_estimate_suffices_for_calls_that_retain_gas(w3: Web3, ledger: Contract) -> None:
    request = ledger.functions.storeThroughItself(1, 2)
    assert mined(w3, request.transact({"gas": request.estimate_gas()}))["status"] == 1


def test_a_polled_filter_gives_each_event_once(w3: Web3, ledger: Contract) -> None:
    events = ledger.events.Stored.create_filter(from_block="latest")
    blocks = w3.eth.filter("latest")
    pending = w3.eth.filter("pending")
    sent = ledger.functions.storeMany(5, 2).transact()
    receipt = mined(w3, sent)
    assert [new_entry["args"]["key"] for new_entry in events.get_new_entries()] == [5, 6]
    assert events.get_new_entries() == []
    assert [all_entry["args"]["key"] for all_entry in events.get_all_entries()] == [5, 6]
    assert receipt["blockHash"] in blocks.get_new_entries()
    assert sent in pending.get_new_entries()
    assert w3.eth.uninstall_filter(events.filter_id)
    with pytest.raises(Web3RPCError, match="filter not found"):
        w3.eth.get_filter_changes(events.filter_id)


def test_delegating_transaction_runs_the_contracts_code(
    w3: Web3, ledger: Contract, account: LocalAccount
) -> None:
    nonce = w3.eth.get_transaction_count(account.address)
    authorization = {"chainId": w3.eth.chain_id, "address": ledger.address, "nonce": nonce + 1}
    signed = account.sign_transaction(
        {
            "type": 4,
            "chainId": w3.eth.chain_id,
            "nonce": nonce,
            "to": account.address,
            "data": ledger.encode_abi("store", [9, 10]),
            "gas": 200_000,
            "maxFeePerGas": 10 * GWEI,
            "maxPriorityFeePerGas": GWEI,
            "authorizationList": [account.sign_authorization(authorization)],
        }
    )
    receipt = mined(w3, w3.eth.send_raw_transaction(signed.raw_transaction))
    assert receipt["status"] == 1
    assert [log["address"] for log in receipt["logs"]] == [account.address]
    assert w3.eth.get_code(account.address).hex() == "ef0100" + ledger.address[2:].lower()
    delegate = w3.eth.contract(account.address, abi=ledger.abi)
    assert delegate.functions.slots(9).call() == 10


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_transactions_of_all_types_read_back_as_signed(
    w3: Web3, account: LocalAccount, kind: int
) -> None:
    prices = (
        {"maxFeePerGas": 5 * GWEI, "maxPriorityFeePerGas": 2 * GWEI}
        if kind == 2
        else {"gasPrice": 5 * GWEI}
    )
    listed = [{"address": STRANGER, "storageKeys": ["0x" + "00" * 31 + "01"]}]
    request = {
        **({"type": kind, "accessList": listed} if kind else {}),
        **prices,
        "chainId": w3.eth.chain_id,
        "nonce": 0,
        "to": STRANGER,
        "value": 3,
        "gas": 50_000,
    }
    signed = account.sign_transaction(request)
    sent = w3.eth.send_raw_transaction(signed.raw_transaction)
    receipt = mined(w3, sent)
    found = w3.eth.get_transaction(sent)
    assert w3.eth.get_raw_transaction(sent) == signed.raw_transaction
    assert found["type"] == receipt["type"] == kind
    assert {name: found[name] for name in prices} | {"gasPrice": found["gasPrice"]} == {
        **prices,
        "gasPrice": receipt["effectiveGasPrice"],
    }
    assert len(found.get("accessList", [])) == (1 if kind else 0)
    assert receipt["gasUsed"] == 21_000 + (2400 + 1900 if kind else 0)


def test_replacement_below_ten_percent_is_refused(w3: Web3, account: LocalAccount) -> None:
    waiting = {
        "chainId": w3.eth.chain_id, "nonce": 1, "to": STRANGER, "gas": 21_000,
        "maxFeePerGas": 10 * GWEI, "maxPriorityFeePerGas": GWEI,
    }  # fmt: skip

    def send(**changed: int) -> bytes:
        signed = account.sign_transaction({**waiting, **changed})
        return bytes(w3.eth.send_raw_transaction(signed.raw_transaction))

    first = send()
    with pytest.raises(Web3RPCError, match="replacement transaction underpriced"):
        send(maxFeePerGas=11 * GWEI)
    with pytest.raises(Web3RPCError, match="already known"):
        send()
    second = send(maxFeePerGas=11 * GWEI, maxPriorityFeePerGas=11 * GWEI // 10)
    assert w3.eth.get_transaction_count(account.address, "pending") == 0
    assert w3.eth.get_transaction(second)["blockNumber"] is None
    send(nonce=0)
    assert mined(w3, second)["status"] == 1
    with pytest.raises(TransactionNotFound):
        w3.eth.get_transaction(first)


def test_the_pending_nonce_follows_each_answer(w3: Web3, account: LocalAccount) -> None:
    sent = []
    for expected in range(20):
        assert w3.eth.get_transaction_count(account.address, "pending") == expected
        sent.append(w3.eth.send_transaction({"to": STRANGER, "value": 1, "gas": 21_000}))
    assert all(mined(w3, item)["status"] == 1 for item in sent)


def test_a_batch_is_answered_in_order(w3: Web3, account: LocalAccount) -> None:
    with w3.batch_requests() as batch:
        for number in range(50):
            batch.add(w3.eth.get_block(0) if number % 2 else w3.eth.get_balance(account.address))
        answers = batch.execute()
    assert answers[::2] == [100 * 10**18] * 25
    assert all(block["number"] == 0 for block in answers[1::2])


def test_fee_methods_agree(w3: Web3, account: LocalAccount) -> None:
    mined(w3, w3.eth.send_transaction({"to": STRANGER, "value": 1}))
    latest = w3.eth.get_block("latest")
    history = w3.eth.fee_history(2, "latest", [10.0, 90.0])
    assert history["baseFeePerGas"][-2] == latest["baseFeePerGas"]
    assert history["oldestBlock"] == latest["number"] - 1
    following = history["baseFeePerGas"][-1]
    assert w3.eth.gas_price == following + w3.eth.max_priority_fee
    assert w3.eth.get_block("pending")["baseFeePerGas"] == following


def test_a_transaction_for_another_chain_is_refused(w3: Web3) -> None:
    other = Account.create()
    signed = other.sign_transaction(
        {"chainId": 1, "nonce": 0, "to": STRANGER, "gas": 21_000, "gasPrice": 5 * GWEI}
    )
    with pytest.raises(
        Web3RPCError, match="invalid sender: invalid chain id for signer: have 1 want 43112"
    ):
        w3.eth.send_raw_transaction(signed.raw_transaction)
