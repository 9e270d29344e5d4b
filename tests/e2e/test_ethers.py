"""ethers 6 against the running node."""

from collections.abc import Callable
from typing import Any

import pytest

Scenario = Callable[[str, str], Any]

EVERYWHERE = pytest.mark.parametrize("node", ["embedded", "daphne", "production"], indirect=True)
"""For tests that run on every profile and server; the other tests cover code that is the same for all of them."""


@EVERYWHERE
def test_a_contract_is_deployed_and_called(javascript: Scenario) -> None:
    found = javascript("ethers", "deployAndCall")
    assert found.pop("code").startswith("0x60")
    assert found.pop("slot") == "0x" + b"Main ledger".hex().ljust(62, "0") + "16"
    assert found == {
        "title": "Main ledger",
        "held": "1000",
        "stored": str(2**255),
        "status": 1,
        "type": 2,
        "logs": 1,
        "event": "Stored",
        "creation": True,
    }


def test_every_revert_is_decoded(javascript: Scenario) -> None:
    found = javascript("ethers", "failures")
    assert found["custom"]["name"] == "Insufficient"
    assert found["custom"]["arguments"][1:] == ["5000", "1000"]
    assert found["estimated"]["code"] == found["custom"]["code"] == "CALL_EXCEPTION"
    assert found["estimated"]["data"] == found["custom"]["data"]
    assert found["reason"]["reason"] == "must be positive"
    assert found["panic"]["name"] == "Panic"
    assert found["panic"]["arguments"] == [18]


def test_reverting_transaction_is_mined_as_failed(javascript: Scenario) -> None:
    found = javascript("ethers", "failedTransaction")
    assert int(found.pop("gasUsed")) > 21_000
    assert found == {"code": "CALL_EXCEPTION", "status": 0, "logs": 0}


def test_events_are_found_by_topic(javascript: Scenario) -> None:
    found = javascript("ethers", "eventsByFilter")
    assert [event[1:] for event in found["mine"]] == [["1", "11", "one"], ["2", "22", "two"]]
    assert [event[1:] for event in found["second"]] == [["2", "22", "two"]]
    assert found["nobodys"] == []
    assert found["ofBlock"] == 30
    assert found["anyOf"] == 32


def test_a_listener_over_http_polls_a_filter(javascript: Scenario) -> None:
    assert javascript("ethers", "eventsByPolledFilter") == {"values": [["5", "6"], ["6", "7"]]}


@EVERYWHERE
def test_websocket_listener_receives_events(javascript: Scenario) -> None:
    found = javascript("ethers", "eventsBySubscription")
    assert found["values"] == [["1", "10"], ["2", "20"], ["3", "30"]]
    assert found["blocks"] >= 1
    assert found["rising"]
    assert [item for item in found["pending"] if item in found["sent"]] == found["sent"]


def test_transactions_of_every_type_are_mined(javascript: Scenario) -> None:
    found = javascript("ethers", "transactionTypes")
    assert [item["type"] for item in found["found"]] == [0, 1, 2, 4]
    assert all(other["status"] == 1 and other["signer"] for other in found["found"])
    assert found["found"][1]["accessList"] == found["found"][2]["accessList"] == 1
    assert found["found"][3]["authorizations"] == 1
    assert found["delegation"] == "0xef0100" + found["address"][2:].lower()


def test_transaction_with_the_clients_fees_is_mined(javascript: Scenario) -> None:
    found = javascript("ethers", "fees")
    assert int(found.pop("gasPrice")) >= 10**9
    assert found == {"twiceTheBaseFee": True, "gasLimit": "21000", "fee": True, "paid": True}


def test_refusals_have_the_error_codes_of_ethers(javascript: Scenario) -> None:
    assert javascript("ethers", "refusals") == {
        "underpriced": "REPLACEMENT_UNDERPRICED",
        "status": 1,
        "replaced": None,
        "used": "NONCE_EXPIRED",
        "poor": "INSUFFICIENT_FUNDS",
        "unknown": "UNSUPPORTED_OPERATION",
    }


def test_twenty_transactions_are_in_flight_at_once(javascript: Scenario) -> None:
    found = javascript("ethers", "inFlight")
    assert found["mined"] == 20
    assert sorted(found["nonces"]) == list(range(20))
    assert found["next"] == 20


def test_hundred_calls_are_one_batch(javascript: Scenario) -> None:
    assert javascript("ethers", "batch") == {"answers": 100, "bodies": 1}


def test_transactions_with_blobs_are_mined(javascript: Scenario) -> None:
    assert (
        javascript("ethers", "blobs")
        == [
            {
                "type": 3,
                "cap": str(10**9),
                "hashes": 1,
                "status": 1,
                "blobGasUsed": str(2**17),
                "blobGasPrice": "1",
                "same": True,
            }
        ]
        * 2
    )
