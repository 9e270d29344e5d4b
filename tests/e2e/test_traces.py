"""Traces of the running node for debuggers and explorers: cast, web3.py, and the calls of Otterscan's pages."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import requests
from eth_account.signers.local import LocalAccount
from eth_utils import function_signature_to_4byte_selector
from web3 import HTTPProvider, Web3
from web3.contract import Contract
from web3.middleware import SignAndSendRawMiddlewareBuilder
from web3.tracing import Tracing

from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CLIENTS

CAST = CLIENTS / "node_modules/@foundry-rs/cast-linux-amd64/bin/cast"
"""The binary itself; npm has a separate package with it for Linux on x86-64."""
SECONDS = 120.0
"""Time limit for one run of cast, which starts without a cache."""
GAS = 300_000
"""Gas limit of transactions that are meant to fail, because estimating them would fail too."""


class Scene(NamedTuple):
    """A contract and the transactions sent to it."""

    w3: Web3
    ledger: Contract
    deployed: str
    """The transaction that created it."""
    withdrawn: str
    """A transaction with an internal call, which pays 400 wei back to the sender."""
    failed: str
    """A transaction that reverted with `Insufficient`."""


@pytest.fixture
def scene(node: CheckedNode, account: LocalAccount, contracts: dict[str, Any]) -> Iterator[Scene]:
    with requests.Session() as session:
        w3 = Web3(HTTPProvider(node.url, session=session))
        w3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(account), layer=0)
        w3.eth.default_account = account.address
        compiled = contracts["Ledger"]
        factory = w3.eth.contract(abi=compiled["abi"], bytecode=compiled["bytecode"])
        deployed = mined(w3, factory.constructor("Main ledger").transact({"value": 1000}))
        ledger: Contract = w3.eth.contract(deployed["contractAddress"], abi=compiled["abi"])
        withdrawn = mined(w3, ledger.functions.withdraw(400).transact())
        failed = mined(w3, ledger.functions.withdraw(5000).transact({"gas": GAS}))
        yield Scene(
            w3,
            ledger,
            *(value["transactionHash"].to_0x_hex() for value in (deployed, withdrawn, failed)),
        )


def mined(w3: Web3, sent: bytes) -> Any:
    return w3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)


def cast(node: CheckedNode, *arguments: str) -> str:
    """Run Foundry's cast against the node; return its output."""
    done = subprocess.run(
        [str(CAST), *arguments, "--rpc-url", node.url],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ask(scene: Scene, method: str, *params: Any) -> Any:
    answer = scene.w3.provider.make_request(method, list(params))  # type: ignore[arg-type]
    assert "error" not in answer, answer["error"]
    return answer["result"]


def test_cast_replays_a_transaction(node: CheckedNode, scene: Scene) -> None:
    said = cast(node, "run", scene.withdrawn)
    assert scene.ledger.address in said
    assert "Transaction successfully executed" in said
    used = scene.w3.eth.get_transaction_receipt(scene.withdrawn)["gasUsed"]
    assert f"Gas used: {used}" in said

    said = cast(node, "run", "--quick", scene.failed)
    assert "[Revert]" in said


def test_cast_traces_a_call_and_lists_touched_slots(node: CheckedNode, scene: Scene) -> None:
    to = scene.ledger.address
    said = cast(node, "call", to, "slots(uint256)(uint256)", "1", "--trace")
    assert to in said
    assert "Transaction successfully executed" in said

    listed = cast(node, "access-list", to, "store(uint256,uint256)", "7", "9")
    assert to.lower() in listed.lower()
    frame = json.loads(
        cast(node, "rpc", "debug_traceTransaction", scene.failed, '{"tracer":"callTracer"}')
    )
    assert frame["error"] == "execution reverted"


def test_web3py_filters_calls_by_sender(scene: Scene) -> None:
    tracing: Tracing = scene.w3.tracing
    top, paid = tracing.trace_transaction(scene.withdrawn)
    assert (top["action"]["to"], paid["action"]["value"]) == (scene.ledger.address, 400)
    found = tracing.trace_filter({"fromAddress": [scene.ledger.address]})
    assert found == [paid]


def test_queries_of_otterscan_are_answered(scene: Scene, account: LocalAccount) -> None:
    """The calls of Otterscan's pages in order: connection, block, transaction, trace, address, contract."""
    own, ledger = account.address.lower(), scene.ledger.address.lower()
    assert ask(scene, "ots_getApiLevel") == 8
    head = ask(scene, "erigon_getHeaderByNumber", "latest")
    assert int(head["number"], 16) <= int(ask(scene, "eth_blockNumber"), 16)

    number = int(ask(scene, "eth_getTransactionByHash", scene.withdrawn)["blockNumber"], 16)
    details = ask(scene, "ots_getBlockDetails", number)
    assert details["block"]["transactionCount"] == 1
    assert details["block"]["logsBloom"] is None
    receipt = ask(scene, "eth_getTransactionReceipt", scene.withdrawn)
    fee = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
    assert int(details["totalFees"], 16) == fee
    page = ask(scene, "ots_getBlockTransactions", number, 0, 25)
    assert [entry["hash"] for entry in page["fullblock"]["transactions"]] == [scene.withdrawn]
    assert page["receipts"][0]["logs"] is None

    assert ask(scene, "ots_getInternalOperations", scene.withdrawn) == [
        {"type": 0, "from": ledger, "to": own, "value": hex(400)}
    ]
    frames = ask(scene, "ots_traceTransaction", scene.withdrawn)
    assert [(frame["depth"], frame["type"], frame["to"]) for frame in frames] == [
        (0, "CALL", ledger),
        (1, "CALL", own),
    ]
    selector = function_signature_to_4byte_selector("Insufficient(address,uint256,uint256)").hex()
    assert ask(scene, "ots_getTransactionError", scene.failed).startswith(f"0x{selector}")
    assert ask(scene, "ots_getTransactionError", scene.withdrawn) == "0x"

    assert ask(scene, "ots_hasCode", ledger, "latest") is True
    assert ask(scene, "ots_hasCode", own, "latest") is False
    before = ask(scene, "ots_searchTransactionsBefore", own, 0, 25)
    assert [other["hash"] for other in before["txs"][:3]] == [
        scene.failed,
        scene.withdrawn,
        scene.deployed,
    ]
    assert before["firstPage"] is True
    assert before["lastPage"] is True  # it contains all transactions of a new account
    after = ask(scene, "ots_searchTransactionsAfter", ledger, 0, 25)
    assert {item["hash"] for item in after["txs"]} == {
        scene.deployed,
        scene.withdrawn,
        scene.failed,
    }
    assert ask(scene, "ots_getContractCreator", ledger) == {"hash": scene.deployed, "creator": own}
    nonce = int(ask(scene, "eth_getTransactionByHash", scene.failed)["nonce"], 16)
    assert ask(scene, "ots_getTransactionBySenderAndNonce", own, nonce) == scene.failed


@pytest.mark.parametrize("node", ["embedded", "production"], indirect=True)
def test_queries_after_a_receipt_include_its_block(node: CheckedNode, scene: Scene) -> None:
    ledger = scene.ledger.address
    for amount in (7, 8, 9):
        sent = mined(scene.w3, scene.ledger.functions.withdraw(amount).transact())
        number = sent["blockNumber"]

        answer = requests.get(
            f"http://127.0.0.1:{node.port}/api",
            {"module": "account", "action": "txlistinternal", "address": ledger, "sort": "desc"},
            timeout=SECONDS,
        ).json()["result"]
        page = ask(scene, "ots_searchTransactionsBefore", ledger, 0, 1)
        found = ask(scene, "trace_filter", {"fromAddress": [ledger], "fromBlock": hex(number)})

        assert (answer[0]["value"], answer[0]["blockNumber"]) == (str(amount), str(number))
        assert page["txs"][0]["hash"] == sent["transactionHash"].to_0x_hex()
        assert [int(entry["action"]["value"], 16) for entry in found] == [amount]
