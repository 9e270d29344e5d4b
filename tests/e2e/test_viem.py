"""viem 2 against the running node."""

from collections.abc import Callable
from typing import Any

import pytest
from ethereum.crypto.hash import keccak256
from ethereum_rlp import rlp

Scenario = Callable[[str, str], Any]


def test_a_contract_is_deployed_and_called(javascript: Scenario) -> None:
    found = javascript("viem", "deployAndCall")
    assert found.pop("code").startswith("0x60")
    assert found == {
        "title": "Main ledger",
        "held": "1000",
        "stored": str(2**255),
        "status": "success",
        "type": "eip1559",
        "logs": 1,
    }


def test_every_revert_is_decoded(javascript: Scenario) -> None:
    found = javascript("viem", "failures")
    for name in ("custom", "sent"):
        assert found[name]["name"] == "Insufficient"
        assert found[name]["arguments"][1:] == ["5000", "1000"]
    assert found["reason"]["reason"] == "must be positive"
    assert found["panic"]["name"] == "Panic"


def test_events_are_found_and_a_filter_returns_new_ones_only(javascript: Scenario) -> None:
    found = javascript("viem", "events")
    assert found["all"] == [["1", "11", "one"], ["2", "22", "two"]]
    assert found["second"] == found["polled"] == [["2", "22", "two"]]
    assert found["again"] == []
    assert found["uninstalled"] is True
    assert "filter not found" in found["gone"]["message"]


@pytest.mark.parametrize("node", ["embedded", "daphne", "production"], indirect=True)
def test_websocket_watchers_receive_events(javascript: Scenario) -> None:
    assert javascript("viem", "eventsBySubscription") == {
        "values": [["5", "6"], ["6", "7"], ["7", "8"]],
        "errors": [],
    }


def test_transactions_of_every_type_are_mined(javascript: Scenario) -> None:
    found = javascript("viem", "transactionTypes")
    assert [item["type"] for item in found["found"]] == ["legacy", "eip2930", "eip1559", "eip7702"]
    assert all(other["status"] == "success" for other in found["found"])
    assert found["found"][1]["accessList"] == found["found"][2]["accessList"] == 1
    assert found["found"][3]["authorizations"] == 1
    assert found["delegation"] == "0xef0100" + found["address"][2:].lower()


def test_transaction_with_the_clients_estimated_fees_is_mined(javascript: Scenario) -> None:
    found = javascript("viem", "fees")
    assert 2 <= found["baseFees"] <= 5
    assert found["ratios"] == found["baseFees"] - 1
    assert found["rewards"]
    assert found["status"] == "success"
    assert found["within"]


def test_proofs_overrides_and_access_lists_are_read(javascript: Scenario) -> None:
    found = javascript("viem", "reads")
    assert found["overridden"] == "Other"
    assert found["plain"] == "Main ledger"
    assert found["accessList"]["accessList"][0]["address"] == found["address"].lower()
    assert found["count"] == 1
    (slot,) = found["proof"]["storageProof"]
    value = b"Main ledger".ljust(31, b"\x00") + b"\x16"
    assert int(slot["value"]) == int.from_bytes(value, "big")
    root = bytes.fromhex(found["proof"]["storageHash"][2:])
    assert _proved(root, keccak256(bytes(32)), slot["proof"]) == value


def _proved(root: bytes, key: bytes, proof: list[str]) -> bytes:
    """Follow a Merkle-Patricia proof from its root and return the value at its end."""
    nibbles = key.hex()
    wanted: Any = root
    for text in proof:
        encoded = bytes.fromhex(text[2:])
        assert keccak256(encoded) == wanted
        node: Any = rlp.decode(encoded)
        if len(node) == 17:
            wanted, nibbles = node[int(nibbles[0], 16)], nibbles[1:]
            continue
        path = node[0].hex()
        path = path[1:] if path[0] in "13" else path[2:]
        assert nibbles.startswith(path)
        wanted, nibbles = node[1], nibbles[len(path) :]
    assert nibbles == ""
    value = rlp.decode(wanted)
    assert isinstance(value, bytes)
    return value


def test_calls_and_blocks_are_simulated(javascript: Scenario) -> None:
    found = javascript("viem", "simulations")
    assert found == {
        "statuses": ["success", "success", "success", "failure"],
        "stored": "8",
        "error": "ContractFunctionExecutionError",
        "assets": [["ETH", "-5"]],
        "plain": "0",
        "numbers": ["1", "2"],
        "follows": True,
        "time": str(2**33),
        "moved": ["5"],
        "title": "Main ledger",
    }


def test_refusals_are_the_error_classes_of_viem(javascript: Scenario) -> None:
    found = javascript("viem", "refusals")
    assert found["underpriced"]
    assert found["status"] == "success"
    assert found["replaced"] == "TransactionNotFoundError"
    assert "NonceTooLowError" in found["used"]
    assert "InsufficientFundsError" in found["poor"]


def test_twenty_transactions_are_in_flight_at_once(javascript: Scenario) -> None:
    assert javascript("viem", "inFlight") == {"mined": 20, "next": 20}


def test_a_hundred_calls_travel_in_two_bodies(javascript: Scenario) -> None:
    assert javascript("viem", "batch") == {"answers": 100, "bodies": 2}


def test_a_transaction_with_blobs_is_mined(javascript: Scenario) -> None:
    found = javascript("viem", "blobs")
    wrong = found.pop("wrong")
    assert "KZG verification error: invalid blob proof" in wrong["message"]
    assert found == {
        "type": "eip4844",
        "hashes": 2,
        "cap": str(30 * 10**9),
        "status": "success",
        "blobGasUsed": str(2 * 2**17),
        "blobGasPrice": "1",
        "ofBlock": str(2 * 2**17),
        "price": "1",
        "same": True,
    }
