"""State ranges, accounts modified by a block, and intermediate state roots, on a real chain."""

from typing import Any

import pytest

from cchain_app.apps import evm_chain
from cchain_app.selectors.state import state_at
from jsonrpc.errors import JsonRpcError
from primitives.evm import Address
from primitives.hashing import keccak256
from tests.builders import bytecode
from tests.builders.bytecode import words
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.cchain_app.traced_chain import hexed, traced_chain

STORE = bytecode.created(SENDER, 0)
KEYS = [3, 1, 4, 15, 9, 2, 6]


@pytest.fixture
def storing(chain: Any) -> Any:
    """Block 1 creates the contract, block 2 sets and clears slots, block 3 sets one of them again."""
    chain.do(to=None, data=bytecode.deploy_code(bytecode.STORE), gas=300_000, value=0)
    calls = [chain.make(to=STORE, gas=100_000, value=0, data=words(key, key + 100)) for key in KEYS]
    calls.append(chain.make(to=STORE, gas=100_000, value=0, data=words(KEYS[0], 0)))
    chain.send(*calls)
    chain.mine()
    chain.do(to=STORE, gas=100_000, value=0, data=words(1, 7))
    return chain


def shown(values: dict[int, int]) -> dict[str, dict[str, str]]:
    """Return slots in the format of the response, ordered by their hashes."""
    slots = sorted((keccak256(words(key)), key) for key in values)
    return {
        hexed(digest): {"key": hexed(words(key)), "value": hexed(words(values[key]))}
        for digest, key in slots
    }


def range_at(rpc: Any, block: Any, index: int, most: int = 100, start: str = "0x") -> Any:
    return rpc("debug_storageRangeAt", block, index, hexed(STORE), start, most)


def test_slots_are_those_before_the_transaction(rpc, storing):
    for index in range(len(KEYS) + 1):
        found = range_at(rpc, "0x2", index)
        values = {key: key + 100 for key in KEYS[:index]}
        assert found["storage"] == (shown(values) or None)
        assert list(found["storage"] or {}) == sorted(found["storage"] or {})
    after = {key: key + 100 for key in KEYS[1:]}
    assert range_at(rpc, "0x3", 0)["storage"] == shown(after)


def test_pages_are_consecutive(rpc, storing):
    whole, pages, start = range_at(rpc, "0x3", 0)["storage"], {}, "0x00"
    while start is not None:
        page = range_at(rpc, "0x3", 0, 2, start)
        assert len(page["storage"]) <= 2
        pages |= page["storage"]
        start = page["nextKey"]
    assert pages == whole
    first = min(whole)
    assert range_at(rpc, "0x3", 0, 0) == {"storage": {}, "nextKey": first}


def test_missing_objects_are_reported(rpc, storing):
    with pytest.raises(JsonRpcError, match="transaction index 8 out of range for block 0x"):
        range_at(rpc, "0x2", len(KEYS) + 1)
    with pytest.raises(JsonRpcError, match="block 0xffff not found"):
        range_at(rpc, "0xffff", 0)
    with pytest.raises(JsonRpcError, match="invalid argument 1: json: cannot unmarshal string"):
        rpc("debug_storageRangeAt", "0x2", "0x0", hexed(STORE), "0x", 1)


def test_reverted_change_is_not_a_modified_account(rpc, storing):
    own = storing.evm.config.coinbase
    storing.do(to=STORE, gas=100_000, value=0, data=words(1, KEYS[1] + 100))
    changed = rpc("debug_getModifiedAccountsByNumber", 2, 4)
    assert hexed(STORE) not in changed
    assert {hexed(SENDER), hexed(own)} <= set(changed)
    assert changed == sorted(changed, key=lambda one: keccak256(bytes.fromhex(one[2:])))
    assert hexed(STORE) in rpc("debug_getModifiedAccountsByNumber", 3)
    hashes = [rpc("eth_getBlockByNumber", hex(number), False)["hash"] for number in (2, 4)]
    assert rpc("debug_getModifiedAccountsByHash", *hashes) == changed
    assert hexed(STORE) in rpc("debug_getModifiedAccountsByHash", hashes[1])


@pytest.mark.parametrize(
    ("numbers", "words_of_it"),
    [
        ((2, 2), r"start block height \(2\) must be less than end block height \(2\)"),
        ((500,), "start block 1f4 not found"),
        ((1, 500), "end block 1f4 not found"),
        ((0,), "block [0-9a-f]{64} has no parent"),
        (
            ("0x1",),
            "invalid argument 0: json: cannot unmarshal string into Go value of type uint64",
        ),
    ],
)
def test_modified_accounts_of_no_such_blocks(rpc, storing, numbers, words_of_it):
    with pytest.raises(JsonRpcError, match=f"^.*{words_of_it}"):
        rpc("debug_getModifiedAccountsByNumber", *numbers)


def test_the_last_root_between_transactions_is_the_blocks(rpc, chain):
    made = traced_chain(chain)
    block = rpc("eth_getBlockByNumber", "0x2", False)
    roots = rpc("debug_intermediateRoots", block["hash"])
    assert len(roots) == len(made.sent)
    # This block has no end-of-block processing: its request queues are empty.
    assert roots[-1] == block["stateRoot"]
    assert len(set(roots)) == len(roots)
    with pytest.raises(JsonRpcError, match="genesis is not traceable"):
        rpc("debug_intermediateRoots", rpc("eth_getBlockByNumber", "0x0", False)["hash"])
    assert rpc("debug_intermediateRoots", rpc("eth_getBlockByNumber", "0x3", False)["hash"]) == []


def dump(rpc: Any, block: str, start: str = "0x", most: int = 0) -> Any:
    return rpc("debug_accountRange", block, start, most, False, False, False)


def test_accounts_are_those_of_the_height(rpc, storing):
    for number in range(4):
        found = dump(rpc, hex(number))
        assert "0x" + found["root"] == rpc("eth_getBlockByNumber", hex(number), False)["stateRoot"]
        keys = [item["key"] for item in found["accounts"].values()]
        assert keys == sorted(keys)
        state = state_at(evm_chain(), number)
        assert (STORE in {bytes.fromhex(other[2:]) for other in found["accounts"]}) == (number > 0)
        for address, one in found["accounts"].items():
            account = state.account(Address(bytes.fromhex(address[2:])))
            assert (one["nonce"], one["balance"]) == (account.nonce, str(account.balance))
            assert one["codeHash"] == hexed(account.code_hash)
            proof = rpc("eth_getProof", address, [], hex(number))
            assert one["root"] == proof["storageHash"]


def test_account_dump_is_paged_with_code_and_storage(rpc, storing):
    whole, found, start = dump(rpc, "0x3")["accounts"], {}, "0x"
    while start is not None:
        page = dump(rpc, "0x3", start, 3)
        assert len(page["accounts"]) <= 3
        found |= page["accounts"]
        start = page.get("next")
    assert found == whole
    store = next(item for item in whole.values() if item["address"] == hexed(STORE))
    assert store["code"] == hexed(bytecode.STORE)
    assert store["storage"] == {
        hexed(words(key)): f"{7 if key == 1 else key + 100:02x}" for key in KEYS[1:]
    }
    assert rpc("debug_dumpBlock", "0x3") == dump(rpc, "0x3")


def test_unsupported_debug_methods_are_refused(rpc, chain):
    assert rpc("debug_getBadBlocks") == []
    with pytest.raises(JsonRpcError, match="unknown preimage"):
        rpc("debug_preimage", hexed(bytes(32)))
    with pytest.raises(JsonRpcError, match="debug_dbGet is not available"):
        rpc("debug_dbGet", "0x00")


def test_a_transaction_is_found_by_sender_and_nonce(rpc, storing):
    def find(nonce: int) -> Any:
        return rpc("eth_getTransactionBySenderAndNonce", hexed(SENDER), hex(nonce))

    for nonce in range(storing.nonce):
        assert (find(nonce)["nonce"], find(nonce)["from"]) == (hex(nonce), hexed(SENDER))
    waiting = storing.make(to=RECIPIENT)
    assert find(waiting.nonce) is None
    storing.send(waiting)
    assert (find(waiting.nonce)["hash"], find(waiting.nonce)["blockHash"]) == (
        hexed(waiting.hash),
        None,
    )


def test_a_transaction_is_filled_so_that_it_can_be_signed(rpc, storing):
    asked = {"from": hexed(SENDER), "to": hexed(STORE), "input": hexed(words(1, 2))}
    filled = rpc("eth_fillTransaction", asked)
    tx = filled["tx"]
    assert (tx["type"], tx["nonce"], tx["chainId"]) == (
        "0x2",
        hex(storing.nonce),
        rpc("eth_chainId"),
    )
    assert tx["maxPriorityFeePerGas"] == rpc("eth_maxPriorityFeePerGas")
    fee, tip = int(tx["maxFeePerGas"], 16), int(tx["maxPriorityFeePerGas"], 16)
    assert fee == tip + 2 * int(rpc("eth_baseFee"), 16)
    assert tx["hash"] == hexed(keccak256(bytes.fromhex(filled["raw"][2:])))
    storing.do(
        to=STORE, value=0, data=words(1, 2), gas=int(tx["gas"], 16),
        max_fee_per_gas=fee, max_priority_fee_per_gas=tip,
    )  # fmt: skip
    assert rpc("eth_getBlockReceipts", "latest")[0]["status"] == "0x1"
    kept = rpc(
        "eth_fillTransaction", {**asked, "gasPrice": hex(10**11), "gas": "0x30000", "nonce": "0x63"}
    )
    assert [kept["tx"][name] for name in ("type", "gasPrice", "gas", "nonce")] == [
        "0x0", hex(10**11), "0x30000", "0x63",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "words_of_it"),
    [
        ({"to": None}, "contract creation without any data provided"),
        (
            {"maxFeePerGas": "0x1", "maxPriorityFeePerGas": "0x2"},
            r"maxFeePerGas \(1\) < maxPriorityFeePerGas \(2\)",
        ),
        ({"gasPrice": "0x1", "maxFeePerGas": "0x1"}, "both gasPrice and"),
        ({"chainId": "0x1"}, "chainId does not match node's"),
    ],
)
def test_unfillable_transaction_is_refused(rpc, storing, fields, words_of_it):
    with pytest.raises(JsonRpcError, match=f"^.*{words_of_it}"):
        rpc("eth_fillTransaction", {"from": hexed(SENDER), "to": hexed(RECIPIENT), **fields})
