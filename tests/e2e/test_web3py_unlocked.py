"""web3.py with the node's unlocked accounts, and the development methods; each test also runs on Anvil."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from web3 import HTTPProvider, Web3
from web3.contract import Contract
from web3.exceptions import (
    ContractCustomError,
    ContractLogicError,
    TransactionNotFound,
    Web3RPCError,
)

from tests.e2e.development import CHAIN_ID, DevelopmentServer

ONE = 10**18
SOMEBODY = Web3.to_checksum_address("0x" + "50de" * 10)
CODE = "0x602a5f5260205ff3"
"""Code that returns 42."""
MAIL = {
    "domain": {"name": "Mail", "version": "1", "chainId": CHAIN_ID},
    "types": {
        "EIP712Domain": [
            {"name": "name", "type": "string"},
            {"name": "version", "type": "string"},
            {"name": "chainId", "type": "uint256"},
        ],
        "Mail": [{"name": "to", "type": "address"}, {"name": "text", "type": "string"}],
    },
    "primaryType": "Mail",
    "message": {"to": SOMEBODY, "text": "hello"},
}

Ask = Callable[..., Any]


@pytest.fixture(params=["anvil", "devnet"])
def server(request: pytest.FixtureRequest) -> DevelopmentServer:
    """Each test runs on both servers; a test that passes on Anvil alone shows a difference."""
    found: DevelopmentServer = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def w3(server: DevelopmentServer) -> Iterator[Web3]:
    """A client without keys; after the test the chain reverts to its previous state."""
    with requests.Session() as session:
        client = Web3(HTTPProvider(server.url, session=session))
        client.eth.default_account = client.eth.accounts[0]
        snapshot = client.manager.request_blocking("evm_snapshot", [])  # type: ignore[arg-type]
        yield client
        client.manager.request_blocking("evm_revert", [snapshot])  # type: ignore[arg-type]


@pytest.fixture
def ask(w3: Web3) -> Ask:
    """Calls a method for which web3.py has no function."""

    def call(method: str, *params: Any) -> Any:
        return w3.manager.request_blocking(method, list(params))  # type: ignore[arg-type]

    return call


@pytest.fixture
def ledger(w3: Web3, contracts: dict[str, Any]) -> Contract:
    """A contract that the node's first account has deployed with 1000 wei."""
    compiled = contracts["Ledger"]
    factory = w3.eth.contract(abi=compiled["abi"], bytecode=compiled["bytecode"])
    receipt = mined(w3, factory.constructor("Main ledger").transact({"value": 1000}))
    found: Contract = w3.eth.contract(receipt["contractAddress"], abi=compiled["abi"])
    return found


def mined(w3: Web3, sent: bytes) -> Any:
    return w3.eth.wait_for_transaction_receipt(sent, timeout=30, poll_latency=0.02)


def test_ten_accounts_have_coins(w3: Web3) -> None:
    assert len(w3.eth.accounts) >= 10
    assert all(w3.eth.get_balance(account) == 10_000 * ONE for account in w3.eth.accounts[1:10])
    first = Web3.to_checksum_address("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
    assert first in w3.eth.accounts[:10]


def test_node_signs_for_unlocked_accounts(w3: Web3) -> None:
    before = w3.eth.get_balance(SOMEBODY)
    sent = w3.eth.send_transaction({"to": SOMEBODY, "value": 7})
    receipt = mined(w3, sent)
    assert (receipt["status"], receipt["from"]) == (1, w3.eth.accounts[0])
    assert w3.eth.get_balance(SOMEBODY) == before + 7
    assert w3.eth.get_transaction(sent)["type"] == 2


def test_given_gas_prices_are_kept(w3: Web3) -> None:
    price = w3.to_wei(20, "gwei")
    legacy = w3.eth.send_transaction({"to": SOMEBODY, "gasPrice": price, "gas": 30_000})
    mined(w3, legacy)
    found = w3.eth.get_transaction(legacy)
    assert (found["type"], found["gasPrice"], found["gas"]) == (0, price, 30_000)


def test_a_second_transaction_counts_the_first(w3: Web3) -> None:
    first = w3.eth.get_transaction_count(w3.eth.accounts[0])
    sent = [w3.eth.send_transaction({"to": SOMEBODY, "value": 1}) for _ in range(10)]
    assert all(mined(w3, item)["status"] == 1 for item in sent)
    nonces = [w3.eth.get_transaction(other)["nonce"] for other in sent]
    assert nonces == list(range(first, first + 10))


def test_a_contract_is_deployed_and_called(w3: Web3, ledger: Contract) -> None:
    receipt = mined(w3, ledger.functions.store(7, 2**255).transact())
    assert ledger.functions.slots(7).call() == 2**255
    (event,) = ledger.events.Stored().process_receipt(receipt)
    assert dict(event["args"]) == {"key": 7, "value": 2**255}


def test_another_of_the_nodes_accounts_sends(w3: Web3, ledger: Contract) -> None:
    second = w3.eth.accounts[1]
    mined(w3, ledger.functions.deposit(1, "two").transact({"from": second, "value": 50}))
    assert ledger.functions.held(second).call() == 50


def test_kinds_of_reverts_are_distinguished_before_sending(w3: Web3, ledger: Contract) -> None:
    count = w3.eth.get_transaction_count(w3.eth.accounts[0])
    with pytest.raises(ContractCustomError):
        ledger.functions.withdraw(5000).transact()
    with pytest.raises(ContractLogicError, match="must be positive"):
        ledger.functions.requirePositive(-1).call()
    assert w3.eth.get_transaction_count(w3.eth.accounts[0]) == count


def test_failing_transaction_with_gas_is_mined(w3: Web3, ledger: Contract) -> None:
    sent = ledger.functions.withdraw(5000).transact({"gas": 100_000})
    assert mined(w3, sent)["status"] == 0


def test_transaction_of_a_foreign_account_is_refused(w3: Web3) -> None:
    with pytest.raises(Web3RPCError):
        w3.eth.send_transaction({"from": SOMEBODY, "to": SOMEBODY, "gas": 21_000})


def test_a_message_is_signed(w3: Web3) -> None:
    account = w3.eth.accounts[2]
    signature = w3.eth.sign(account, text="hello")
    signable = encode_defunct(text="hello")
    assert Account.recover_message(signable, signature=signature) == account


def test_typed_data_is_signed(w3: Web3, ask: Ask) -> None:
    account = w3.eth.accounts[2]
    signature = ask("eth_signTypedData_v4", account, MAIL)
    signable = encode_typed_data(full_message=MAIL)
    assert Account.recover_message(signable, signature=signature) == account


def test_a_transaction_is_signed_and_not_sent(w3: Web3, ask: Ask) -> None:
    request = {
        "from": w3.eth.accounts[3],
        "to": SOMEBODY,
        "value": hex(5),
        "gas": hex(21_000),
        "nonce": hex(0),
        "maxFeePerGas": hex(10**10),
        "maxPriorityFeePerGas": hex(10**9),
    }
    raw = ask("eth_signTransaction", request)
    assert Account.recover_transaction(raw) == w3.eth.accounts[3]
    assert w3.eth.get_transaction_count(w3.eth.accounts[3]) == 0


def test_a_balance_and_code_and_a_slot_are_set(w3: Web3, ask: Ask) -> None:
    ask("anvil_setBalance", SOMEBODY, hex(3 * ONE))
    ask("anvil_setCode", SOMEBODY, CODE)
    ask("anvil_setStorageAt", SOMEBODY, "0x1", "0x" + "2a".zfill(64))
    assert w3.eth.get_balance(SOMEBODY) == 3 * ONE
    assert int.from_bytes(w3.eth.call({"to": SOMEBODY}), "big") == 42
    assert int.from_bytes(w3.eth.get_storage_at(SOMEBODY, 1), "big") == 42


def test_impersonated_account_can_send(w3: Web3, ask: Ask) -> None:
    ask("anvil_setBalance", SOMEBODY, hex(ONE))
    ask("anvil_impersonateAccount", SOMEBODY)
    sent = w3.eth.send_transaction({"from": SOMEBODY, "to": w3.eth.accounts[0], "value": 4})
    assert mined(w3, sent)["from"] == SOMEBODY
    ask("anvil_stopImpersonatingAccount", SOMEBODY)
    with pytest.raises(Web3RPCError):
        w3.eth.send_transaction({"from": SOMEBODY, "to": SOMEBODY, "gas": 21_000})


def test_time_moves_with_the_next_block(w3: Web3, ask: Ask) -> None:
    before = w3.eth.get_block("latest")["timestamp"]
    ask("evm_increaseTime", 86_400)
    ask("evm_mine")
    assert w3.eth.get_block("latest")["timestamp"] >= before + 86_400


def test_timestamp_of_the_next_block_can_be_set(w3: Web3, ask: Ask) -> None:
    time = w3.eth.get_block("latest")["timestamp"] + 1000
    ask("evm_setNextBlockTimestamp", time)
    mined(w3, w3.eth.send_transaction({"to": SOMEBODY}))
    assert w3.eth.get_block("latest")["timestamp"] == time


def test_blocks_are_mined_at_once(w3: Web3, ask: Ask) -> None:
    before = w3.eth.block_number
    ask("anvil_mine", hex(250), hex(12))
    assert w3.eth.block_number == before + 250
    last, earlier = w3.eth.get_block("latest"), w3.eth.get_block(before + 1)
    # Anvil adds the seconds that pass in real time.
    assert 249 * 12 <= last["timestamp"] - earlier["timestamp"] <= 249 * 12 + 10


def test_snapshot_restores_everything(w3: Web3, ask: Ask, ledger: Contract) -> None:
    head = w3.eth.get_block("latest")["hash"]
    snapshot = ask("evm_snapshot")
    sent = ledger.functions.store(1, 2).transact()
    mined(w3, sent)
    assert ask("evm_revert", snapshot) is True
    assert w3.eth.get_block("latest")["hash"] == head
    assert ledger.functions.slots(1).call() == 0
    with pytest.raises(TransactionNotFound):
        w3.eth.get_transaction(sent)
    # The nonce can be used again.
    assert mined(w3, ledger.functions.store(1, 3).transact())["status"] == 1


def test_transactions_wait_without_automine(w3: Web3, ask: Ask) -> None:
    ask("evm_setAutomine", False)
    try:
        sent = [w3.eth.send_transaction({"to": SOMEBODY, "value": value}) for value in (1, 2, 3)]
        assert w3.eth.get_transaction(sent[2])["blockNumber"] is None
        assert w3.eth.get_transaction_count(w3.eth.accounts[0], "pending") == (
            w3.eth.get_transaction_count(w3.eth.accounts[0]) + 3
        )
        ask("evm_mine")
        assert w3.eth.get_block("latest")["transactions"] == sent
    finally:
        ask("evm_setAutomine", True)


def test_a_filter_lives_on_after_a_revert(w3: Web3, ask: Ask, ledger: Contract) -> None:
    snapshot = ask("evm_snapshot")
    events = ledger.events.Stored.create_filter(from_block="latest")
    mined(w3, ledger.functions.store(1, 2).transact())
    assert [new_entry["args"]["value"] for new_entry in events.get_new_entries()] == [2]
    ask("evm_revert", snapshot)
    mined(w3, ledger.functions.store(1, 3).transact())
    assert [item["args"]["value"] for item in events.get_new_entries()][-1:] == [3]


def test_node_info_and_metadata_are_returned(w3: Web3, ask: Ask) -> None:
    assert w3.client_version.lower().startswith("anvil")
    told = ask("anvil_nodeInfo")
    assert int(told["currentBlockNumber"], 16) == w3.eth.block_number
    assert told["environment"]["chainId"] == w3.eth.chain_id == CHAIN_ID
    metadata = ask("anvil_metadata")
    assert metadata["latestBlockNumber"] == w3.eth.block_number
