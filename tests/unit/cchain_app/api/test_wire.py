"""The JSON of blocks, transactions, receipts and logs, which must conform to the published schemas."""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from cchain_app.api import wire
from cchain_app.api.rendered import RenderedBlock, join
from cchain_app.blocks.header import decode_header, encode_header
from cchain_app.txs.transaction import ACCESS_LIST, SET_CODE
from chaindb.connections import WouldBlock
from primitives.hashing import keccak256
from tests.builders.accepted import EMITTER, OTHER_TOPIC, TOPIC, accepted, header, log
from tests.builders.cchain import authorization
from tests.builders.transactions import RECIPIENT, SENDER, legacy, signed
from tests.conformance.openrpc import DoesNotConform, assert_conforms

ALL_TYPES = (
    legacy(gas=21_000),
    signed(type=ACCESS_LIST, nonce=1, access_list=((RECIPIENT, (bytes(32),)), (SENDER, ()))),
    signed(nonce=2, to=None, data=b"\x60\x00"),
    signed(type=SET_CODE, nonce=3, authorizations=(authorization(1, RECIPIENT, 0),)),
)


def shown(raw: Any) -> Any:
    return json.loads(bytes(raw))


def rendered_block() -> RenderedBlock:
    logs = [[], [log(TOPIC), log()], [], [log(TOPIC, OTHER_TOPIC)]]
    return RenderedBlock(accepted(7, ALL_TYPES, logs, failed=[2]))


def test_a_block_with_transactions_conforms():
    body = shown(rendered_block().block(full=True))
    assert_conforms("eth_getBlockByNumber", body)
    assert [item["type"] for item in body["transactions"]] == ["0x0", "0x1", "0x2", "0x4"]


def test_a_block_with_hashes_conforms():
    body = shown(rendered_block().block(full=False))
    assert_conforms("eth_getBlockByHash", body)
    assert body["transactions"] == [wire.hexed(all_kind.hash) for all_kind in ALL_TYPES]


def test_receipts_conform():
    receipts = shown(rendered_block().receipts())
    assert_conforms("eth_getBlockReceipts", receipts)
    for receipt in receipts:
        assert_conforms("eth_getTransactionReceipt", receipt)


def test_logs_count_over_the_whole_block():
    receipts = shown(rendered_block().receipts())
    indexes = [entry["logIndex"] for receipt in receipts for entry in receipt["logs"]]
    assert indexes == ["0x0", "0x1", "0x2"]
    assert receipts[3]["logs"][0] == {
        "address": wire.hexed(EMITTER),
        "topics": [wire.hexed(TOPIC), wire.hexed(OTHER_TOPIC)],
        "data": "0x2a",
        "blockNumber": "0x7",
        "blockHash": receipts[3]["blockHash"],
        "blockTimestamp": hex(1_700_000_007),
        "transactionHash": wire.hexed(ALL_TYPES[3].hash),
        "transactionIndex": "0x3",
        "logIndex": "0x2",
        "removed": False,
    }


def test_gas_used_is_the_difference_of_the_cumulative_gas():
    receipts = shown(rendered_block().receipts())
    assert [receipt["gasUsed"] for receipt in receipts] == ["0x5208"] * 4
    assert receipts[3]["cumulativeGasUsed"] == hex(84_000)


def test_a_failed_creation_still_has_its_address_and_status_zero():
    receipt = shown(rendered_block().receipt(2))
    assert receipt["to"] is None
    assert receipt["status"] == "0x0"
    # the last 20 bytes of keccak256 of the list of sender and nonce 2
    encoded = bytes.fromhex("d694" + SENDER.hex() + "02")
    assert receipt["contractAddress"] == wire.hexed(keccak256(encoded)[12:])
    assert shown(rendered_block().receipt(0))["contractAddress"] is None


def test_a_legacy_transaction_has_no_list_and_no_parity():
    body = shown(rendered_block().transaction(0))
    assert body["chainId"] == "0xa868"
    assert int(body["v"], 16) in (35 + 2 * 43_112, 36 + 2 * 43_112)
    assert not {"accessList", "yParity", "maxFeePerGas", "authorizationList"} & body.keys()


def test_a_transaction_from_before_eip_155_has_no_chain_id():
    body = wire.pool_transaction(legacy(chain_id=None))
    assert "chainId" not in body
    assert body["v"] in ("0x1b", "0x1c")


def test_an_access_list_without_keys_has_an_empty_array():
    body = shown(rendered_block().transaction(1))
    assert body["accessList"][1] == {"address": wire.hexed(SENDER), "storageKeys": []}
    assert body["yParity"] == body["v"]


def test_the_gas_price_is_effective_once_it_is_in_a_block_and_the_cap_before():
    assert shown(rendered_block().transaction(2))["gasPrice"] == hex(2 * 10**9)
    assert wire.pool_transaction(ALL_TYPES[2])["gasPrice"] == hex(50 * 10**9)


@pytest.mark.parametrize("transaction", ALL_TYPES, ids=["legacy", "list", "fee", "code"])
def test_a_waiting_transaction_has_no_block_and_conforms(transaction):
    body = wire.pool_transaction(transaction)
    places = ("blockHash", "blockNumber", "blockTimestamp", "transactionIndex")
    assert all(body[name] is None for name in places)
    assert_conforms("eth_getTransactionByHash", body)


def test_quantities_have_no_leading_zeros():
    body = msgspec.json.encode(wire.pool_transaction(ALL_TYPES[3])).decode()
    signature = [part[name] for part in [json.loads(body)] for name in ("r", "s", "v", "nonce")]
    assert all(not text.startswith("0x0") or text == "0x0" for text in signature)


def test_a_block_from_before_london_has_none_of_the_later_fields():
    later = {
        "base_fee": None, "withdrawals_root": None, "blob_gas_used": None, "excess_blob_gas": None,
        "parent_beacon_block_root": None, "requests_hash": None, "difficulty": 131_072,
    }  # fmt: skip
    body = wire.block(accepted(1, **later), [])
    names = {
        "baseFeePerGas", "withdrawals", "withdrawalsRoot", "blobGasUsed", "excessBlobGas",
        "parentBeaconBlockRoot", "requestsHash",
    }  # fmt: skip
    assert not names & body.keys()
    assert body["difficulty"] == "0x20000"
    assert_conforms("eth_getBlockByNumber", body)


def test_a_header_has_no_transactions_no_uncles_and_no_size():
    body = shown(rendered_block().header())
    assert not {"transactions", "uncles", "size", "withdrawals"} & body.keys()
    assert body["number"] == "0x7"
    assert body["hash"] == shown(rendered_block().block(full=False))["hash"]


def test_the_fields_shown_are_those_that_are_hashed():
    block = accepted(3, ALL_TYPES[:1])
    again = decode_header(encode_header(block.header))
    assert again == block.header
    body = wire.header(block)
    assert body["requestsHash"] == wire.hexed(header().requests_hash)
    assert body["hash"] == wire.hexed(keccak256(encode_header(again)))


def test_inspected_transactions_are_one_line():
    assert wire.inspected(ALL_TYPES[0]).endswith(": 1 wei + 21000 gas × 50000000000 wei")
    assert wire.inspected(ALL_TYPES[2]).startswith("contract creation: ")


def test_schema_check_refuses_wrong_results():
    body = shown(rendered_block().block(full=False))
    with pytest.raises(DoesNotConform, match="eth_getBlockByNumber"):
        assert_conforms("eth_getBlockByNumber", {**body, "number": 7})
    with pytest.raises(DoesNotConform):
        assert_conforms("eth_blockNumber", "0x00")
    with pytest.raises(DoesNotConform):
        assert_conforms("eth_getTransactionReceipt", {"blockHash": None})


def test_a_rendered_part_is_rendered_once():
    kept = rendered_block()
    assert kept.receipt(1) is kept.receipt(1)
    assert kept.block(full=True) is kept.block(full=True)
    assert kept.block(full=True) is not kept.block(full=False)


def test_parts_are_joined_to_an_array():
    assert bytes(join([])) == b"[]"
    assert shown(join([rendered_block().logs(1).joined]))[1]["logIndex"] == "0x1"


def test_a_large_block_is_rendered_off_the_event_loop():
    many = [legacy(nonce=number) for number in range(20)]
    kept = RenderedBlock(accepted(1, many * 100))

    async def ask():
        return kept.block(full=True)

    with pytest.raises(WouldBlock):
        asyncio.run(ask())
    rendered_by_a_thread = kept.block(full=True)
    assert asyncio.run(ask()) is rendered_by_a_thread
