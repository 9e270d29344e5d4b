"""Call objects, state overrides and block overrides as clients send them."""

import pytest

from cchain_app.api.params import call as params_call
from cchain_app.api.params.call import CallRequest
from cchain_app.evm.overrides import AccountOverride, BlockOverride
from cchain_app.txs.transaction import Authorization
from jsonrpc.errors import InvalidParam

A, B = "0x" + "aa" * 20, "0x" + "bb" * 20
SLOT, WORD = "0x" + "01" * 32, "0x" + "02" * 32


def test_an_empty_call_has_defaults():
    assert params_call.call({}) == CallRequest()


def test_every_member_of_a_call_is_read():
    request = params_call.call(
        {
            "from": A,
            "to": B,
            "gas": "0x5208",
            "maxFeePerGas": "0x2",
            "maxPriorityFeePerGas": "0x1",
            "value": "0x3",
            "nonce": "0x4",
            "input": "0x1234",
            "chainId": "0xa868",
            "accessList": [
                {"address": A, "storageKeys": [SLOT]},
                {"address": B, "storageKeys": []},
            ],
            "authorizationList": [
                {
                    "chainId": "0x0",
                    "address": B,
                    "nonce": "0x1",
                    "yParity": "0x1",
                    "r": "0x7",
                    "s": "0x8",
                }
            ],
        }
    )
    assert request == CallRequest(
        sender=b"\xaa" * 20,
        to=b"\xbb" * 20,
        gas=21_000,
        max_fee_per_gas=2,
        max_priority_fee_per_gas=1,
        value=3,
        nonce=4,
        data=b"\x12\x34",
        chain_id=43_112,
        access_list=((b"\xaa" * 20, (b"\x01" * 32,)), (b"\xbb" * 20, ())),
        authorizations=(Authorization(0, b"\xbb" * 20, 1, 1, 7, 8),),
    )


def test_unknown_members_are_ignored():
    given = {"to": A, "type": "0x2", "chain": "mainnet", "hardfork": "london", "networkId": "0x1"}
    assert params_call.call(given) == CallRequest(to=b"\xaa" * 20)


@pytest.mark.parametrize("to", [None, ""])
def test_no_recipient_is_written_in_three_ways(to):
    assert params_call.call({"to": to}).to is None


def test_of_input_and_data_input_wins():
    assert params_call.call({"data": "0x01", "input": "0x02"}).data == b"\x02"
    assert params_call.call({"data": "0x01", "input": "0x"}).data == b""
    assert params_call.call({"data": "0x01", "input": None}).data == b"\x01"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("0x", "json: cannot unmarshal string into Go value of type ethapi.TransactionArgs"),
        (
            {"from": "aa"},
            "json: cannot unmarshal hex string without 0x prefix into Go struct field "
            "TransactionArgs.from of type common.Address",
        ),
        (
            {"value": "0x01"},
            "json: cannot unmarshal hex number with leading zero digits into Go struct field "
            "TransactionArgs.value",
        ),
        (
            {"gas": 21000},
            "json: cannot unmarshal hex string without 0x prefix into Go struct field "
            "TransactionArgs.gas",
        ),
        (
            {"gas": "0x1ffffffffffffffff"},
            "json: cannot unmarshal hex number > 64 bits into Go struct field TransactionArgs.gas",
        ),
        ({"to": "0xaa"}, "hex string has length 2, want 40 for common.Address"),
        (
            {"accessList": {}},
            "json: cannot unmarshal object into Go struct field TransactionArgs.accessList of type "
            "types.AccessList",
        ),
        ({"accessList": [{}]}, "missing required field 'address' for AccessTuple"),
        (
            {"authorizationList": [{"chainId": "0x1"}]},
            "missing required field 'address' for SetCodeAuthorization",
        ),
    ],
)
def test_an_invalid_call_is_refused(given, words):
    with pytest.raises(InvalidParam) as refusal:
        params_call.call(given)
    assert refusal.value.text == words


def test_state_overrides_are_read_by_address():
    found = params_call.state_overrides(
        {
            A: {"balance": "0x1", "nonce": "0x2", "code": "0x60", "state": {SLOT: WORD}},
            B: {"stateDiff": {SLOT: WORD}, "movePrecompileToAddress": A},
        }
    )
    words = {b"\x01" * 32: b"\x02" * 32}
    assert found == {
        b"\xaa" * 20: AccountOverride(balance=1, nonce=2, code=b"\x60", state=words),
        b"\xbb" * 20: AccountOverride(state_diff=words, move_precompile_to=b"\xaa" * 20),
    }


def test_an_empty_storage_is_not_the_same_as_none():
    assert params_call.state_overrides({A: {"state": {}}})[b"\xaa" * 20].state == {}
    assert params_call.state_overrides({A: {}})[b"\xaa" * 20].state is None


@pytest.mark.parametrize(
    "given",
    [[], "0x", {"nobody": {}}, {A: {"state": []}}, {A: {"stateDiff": {"0x1": WORD}}}, {A: 5}],
)
def test_invalid_state_overrides_are_refused(given):
    with pytest.raises(InvalidParam):
        params_call.state_overrides(given)


def test_block_overrides_are_read():
    found = params_call.block_overrides(
        {
            "number": "0x10",
            "time": "0x20",
            "gasLimit": "0x30",
            "feeRecipient": A,
            "prevRandao": SLOT,
            "baseFeePerGas": "0x40",
            "blobBaseFee": "0x50",
            "difficulty": "0x60",
        }
    )
    assert found == BlockOverride(
        number=16,
        time=32,
        gas_limit=48,
        fee_recipient=b"\xaa" * 20,
        prev_randao=b"\x01" * 32,
        base_fee=64,
        blob_base_fee=80,
        difficulty=96,
    )
