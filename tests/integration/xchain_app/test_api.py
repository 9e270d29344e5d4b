"""The X-Chain's API against recorded exchanges of the reference, in their order on one chain."""

import json
from typing import Any
from unittest.mock import patch

import pytest

from chaindb import clock
from jsonrpc.dispatch.dialects import GORILLA
from jsonrpc.dispatch.dispatcher import Dispatcher
from primitives.ids import ID, ShortID
from tests.builders.xchain import world_chain
from tests.conformance.xchain_vectors import document, world
from xchain_app import api
from xchain_app.api import AvmRpc
from xchain_app.chain import AvmChain
from xchain_app.services.runtime import AvmRuntime

pytestmark = pytest.mark.django_db(transaction=True)

DOCUMENT = document("api")
CLOCK = world().clock

OUR_OWN = {
    # A missing argument is the fee asset here.
    "asset: no argument",
    # Words of bech32.
    "balance: bad checksum",
    # Lists of the genesis are empty here, not null.
    "block at height 0, json", "genesis asset's transaction, json",
    # Reasons of refusals end with the next block here (xchain.md 19).
    "issue: spends an accepted one's output, refused before",
    # The output is spent here, and the reference does not look.
    "wallet: issue", "wallet: issue again",
    # These methods still exist here, or are refused with their own words.
    "another service",
}  # fmt: skip


def _nothing(_: ID) -> None:
    """Write nothing besides."""


def compared(case: dict[str, Any], answer: dict[str, Any]) -> tuple[Any, Any]:
    """Return the recorded response and the answer, without what has no fixed order."""
    wanted = case["response"]
    for one in (wanted, answer):
        result = one.get("result")
        if isinstance(result, dict):
            for name in ("utxoIDs", "balances", "utxos"):
                if name in result:
                    result[name] = sorted(map(json.dumps, result[name]))
            if case["method"] == "avm.getUTXOs":
                result.pop("endIndex")
    return wanted, answer


def test_recorded_exchanges() -> None:
    chain = world_chain()
    runtime = AvmRuntime(chain)
    rpc = AvmRpc(chain)
    dispatchers = {
        "/ext/bc/X": Dispatcher(api.registry(rpc), GORILLA),
        "/ext/bc/X/wallet": Dispatcher(api.wallet_registry(rpc), GORILLA),
    }
    different = {}
    with patch.object(clock, "now", return_value=CLOCK):
        for case in sorted(DOCUMENT["cases"], key=lambda case: int(case["seq"])):
            if case["seq"] > DOCUMENT["blockAcceptedAfterSeq"]:
                while runtime.consensus.produce(now=CLOCK) is not None:
                    pass
            body = {"jsonrpc": "2.0", "id": 1, "method": case["method"], "params": case["params"]}
            raw = dispatchers[case["path"]].answer(json.dumps(body).encode())
            wanted, answer = compared(case, json.loads(raw or b""))
            is_page = "limit" in str(case["params"]) and "utxos" in case["name"]
            if case["name"] in OUR_OWN or is_page:
                continue
            if answer != wanted:
                different[case["name"]] = (wanted, answer)

    assert different == {}


def test_pages_lead_through_all_outputs_once() -> None:
    chain = world_chain()
    rpc = AvmRpc(chain)
    dispatcher = Dispatcher(api.registry(rpc), GORILLA)
    addresses = [chain.address(owner) for owner in _owners(chain)]

    def page(**params: Any) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": "avm.getUTXOs", "params": params}
        result: dict[str, Any] = json.loads(dispatcher.answer(json.dumps(body).encode()) or b"")
        return dict(result["result"])

    whole = page(addresses=addresses)["utxos"]
    for source in ({}, {"sourceChain": "C"}, {"sourceChain": "P"}):
        everything = page(addresses=addresses, **source)["utxos"]
        found: list[str] = []
        more = page(addresses=addresses, limit=3, **source)
        while set(more["utxos"]) - set(found):
            found += [utxo for utxo in more["utxos"] if utxo not in found]
            more = page(addresses=addresses, limit=3, startIndex=more["endIndex"], **source)
        assert sorted(found) == sorted(everything)
    assert len(whole) > 10


def test_users_issue_nothing_until_the_chain_is_bootstrapped() -> None:
    chain = world_chain()
    chain.is_synced = lambda: False
    dispatcher = Dispatcher(api.registry(AvmRpc(chain)), GORILLA)
    # This node's chain is linear from its start on, so nothing is "not linearized".
    recorded = [
        case for case in document("api_before")["cases"] if case["name"].startswith("bootstrapping")
    ]
    assert {case["method"] for case in recorded} == {"avm.issueTx", "avm.getHeight"}
    for case in recorded:
        body = {"jsonrpc": "2.0", "id": 1, "method": case["method"], "params": case["params"]}
        answer = json.loads(dispatcher.answer(json.dumps(body).encode()) or b"")
        assert answer == case["response"]


def _owners(chain: AvmChain) -> list[ShortID]:
    rows = chain.db.rows("SELECT DISTINCT address FROM xchain_app_xowner")
    return [ShortID(bytes(address)) for (address,) in rows]
