"""ots_search… and ots_getContractCreator, with and without indexed calls."""

import pytest

from cchain_app import models
from cchain_app.services.calls import index_calls
from chaindb import indexing
from jsonrpc.errors import JsonRpcError
from tests.builders import bytecode
from tests.builders.counting_engine import CountingEngine
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.cchain_app.traced_chain import ADDRESSES, hexed, traced_chain

ADDRESS = {name: hexed(address) for name, address in ADDRESSES.items()}


@pytest.fixture
def made(chain):
    return traced_chain(chain)


@pytest.fixture
def indexed(made):
    index_calls(made.chain.evm, seconds=60)
    return made


def names(made, page):
    by_hash = {made.hash(name): name for name in made.sent}
    return [by_hash.get(item["hash"], "deployment") for item in page["txs"]]


def ends(page):
    return page["firstPage"], page["lastPage"]


def test_account_in_inner_calls_is_found(rpc, indexed):
    page = rpc("ots_searchTransactionsBefore", ADDRESS["counter"], 0, 25)

    assert names(indexed, page) == ["delegate", "count_again", "count", "deployment"]
    assert ends(page) == (True, True)


def test_search_after_a_receipt_finds_inner_calls(rpc, made):
    index_calls(made.chain.evm, seconds=0)
    page = rpc("ots_searchTransactionsBefore", ADDRESS["counter"], 0, 25)

    assert names(made, page) == ["delegate", "count_again", "count", "deployment"]
    made.chain.do(
        to=ADDRESSES["proxy"], data=bytecode.words(ADDRESSES["counter"]), gas=200_000, value=0
    )
    first, *_ = rpc("ots_searchTransactionsBefore", ADDRESS["counter"], 0, 25)["txs"]
    assert first["blockNumber"] == "0x4"


def test_a_search_by_an_index_that_is_far_behind_is_refused_with_the_heights(
    rpc, made, monkeypatch
):
    monkeypatch.setattr(indexing, "PATIENCE", 0.0)
    words = "the index of internal calls has reached block {}, but this answer needs block {}; try again later"

    for method in ("ots_searchTransactionsBefore", "ots_searchTransactionsAfter"):
        with pytest.raises(JsonRpcError) as refused:
            rpc(method, ADDRESS["counter"], 0, 25)
        assert (refused.value.code, refused.value.message) == (-32000, words.format(0, 3))
    index_calls(made.chain.evm, seconds=0)
    assert rpc("ots_searchTransactionsBefore", ADDRESS["counter"], 2, 25)["txs"]
    with pytest.raises(JsonRpcError) as refused:
        rpc("ots_searchTransactionsBefore", ADDRESS["counter"], 3, 25)
    assert refused.value.message == words.format(1, 2)


def test_selfdestruct_beneficiary_is_found(rpc, indexed):
    page = rpc("ots_searchTransactionsBefore", hexed(RECIPIENT), 0, 25)

    assert names(indexed, page) == ["pay_and_destroy", "transfer"]


@pytest.mark.node_settings(trace_index="off")
def test_without_rows_of_calls_senders_recipients_and_creations_are_found(rpc, made):
    assert names(made, rpc("ots_searchTransactionsBefore", ADDRESS["counter"], 0, 25)) == [
        "count", "deployment",
    ]  # fmt: skip
    assert len(rpc("ots_searchTransactionsBefore", hexed(SENDER), 0, 25)["txs"]) == 21


def test_receipts_match_their_transactions(rpc, indexed):
    page = rpc("ots_searchTransactionsBefore", ADDRESS["proxy"], 0, 25)

    for sent, receipt in zip(page["txs"], page["receipts"], strict=True):
        assert sent == rpc("eth_getTransactionByHash", sent["hash"])
        assert receipt["transactionHash"] == sent["hash"]
        assert (receipt["logs"], receipt["logsBloom"]) == (None, None)
        assert receipt["timestamp"] > 0


def test_pages_have_all_of_their_last_block(rpc, indexed):
    first = rpc("ots_searchTransactionsBefore", hexed(SENDER), 0, 3)
    second = rpc("ots_searchTransactionsBefore", hexed(SENDER), 2, 3)
    none = rpc("ots_searchTransactionsBefore", hexed(SENDER), 1, 3)

    assert [item["blockNumber"] for item in first["txs"]] == ["0x2"] * len(indexed.sent)
    assert ends(first) == (True, False)
    assert {other["blockNumber"] for other in second["txs"]} == {"0x1"}
    assert ends(second) == (False, True)
    assert (none["txs"], ends(none)) == ([], (False, True))


def test_pages_from_below_have_the_oldest_newest_first(rpc, indexed):
    oldest = rpc("ots_searchTransactionsAfter", hexed(SENDER), 0, 3)
    newest = rpc("ots_searchTransactionsAfter", hexed(SENDER), 1, 3)

    assert [int(item["nonce"], 16) for item in oldest["txs"]] == list(reversed(range(9)))
    assert ends(oldest) == (False, True)
    assert names(indexed, newest) == list(reversed(indexed.sent))
    assert ends(newest) == (True, False)


@pytest.mark.parametrize("number", [2**38, 2**63, 2**64 - 1])
def test_heights_that_no_block_has_are_above_all(rpc, indexed, number):
    assert rpc("ots_searchTransactionsAfter", hexed(SENDER), number, 3)["txs"] == []
    assert rpc("ots_searchTransactionsBefore", hexed(SENDER), number, 3)["txs"] != []


def test_a_page_has_its_limit(rpc, indexed):
    with pytest.raises(JsonRpcError, match="max allowed page size: 100") as refused:
        rpc("ots_searchTransactionsBefore", hexed(SENDER), 0, 101)
    assert refused.value.code == -32602


def test_a_contracts_creator_is_known_by_rows(rpc, indexed, monkeypatch):
    counting = CountingEngine(indexed.chain.evm.engine)
    monkeypatch.setitem(indexed.chain.evm.__dict__, "engine", counting)

    found = rpc("ots_getContractCreator", ADDRESS["counter"])

    assert found["creator"] == hexed(SENDER)
    assert rpc("eth_getTransactionReceipt", found["hash"])["contractAddress"] == ADDRESS["counter"]
    assert counting.blocks == []


@pytest.fixture
def remade(made):
    """A contract created by a factory in block 4 and never destroyed."""
    data = bytecode.words(8) + bytecode.deploy_code(bytecode.STORE)
    sent, _ = made.chain.do(to=ADDRESSES["factory"], data=data, gas=200_000, value=0)
    made.chain.mine()
    created = bytecode.created2(ADDRESSES["factory"], 8, bytecode.deploy_code(bytecode.STORE))
    return hexed(sent.hash), hexed(created)


@pytest.mark.parametrize("written", [True, False])
def test_creator_of_factory_contract_is_the_factory(rpc, made, remade, written):
    if written:
        index_calls(made.chain.evm, seconds=60)
    transaction, created = remade

    assert rpc("ots_getContractCreator", created) == {
        "hash": transaction, "creator": ADDRESS["factory"],
    }  # fmt: skip


def test_lagging_index_is_not_used_for_a_recreated_contract(rpc, indexed, remade):
    transaction, created = remade
    # As if it had been created and destroyed once before.
    former = models.Call.objects.filter(creates=True, succeeded=True).earliest("id")
    former.to = bytes.fromhex(created[2:])
    former.save()

    assert rpc("ots_getContractCreator", created)["hash"] == transaction
    index_calls(indexed.chain.evm, seconds=60)
    assert rpc("ots_getContractCreator", created)["hash"] == transaction


@pytest.mark.parametrize("written", [True, False])
def test_accounts_without_code_have_no_creator(rpc, made, written):
    if written:
        index_calls(made.chain.evm, seconds=60)

    assert rpc("ots_getContractCreator", hexed(SENDER)) is None
    assert rpc("ots_getContractCreator", "0x" + "77" * 20) is None
