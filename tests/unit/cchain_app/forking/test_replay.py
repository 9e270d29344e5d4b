"""Transactions of another chain, reconstructed from the responses of its node."""

from typing import Any

import pytest

from cchain_app.api.wire import pool_transaction
from cchain_app.forking.errors import BadUpstreamAnswer, ForkReason, ForkRefused
from cchain_app.forking.replay import read_replay
from cchain_app.txs.codec import decode_unsigned
from cchain_app.txs.signing import encode_signed, impersonate, sign_authorization
from cchain_app.txs.transaction import ACCESS_LIST, SET_CODE, Transaction
from primitives.evm import Address, Slot
from primitives.secp256k1 import ORDER, Signature
from tests.builders.blobs import blob_transaction
from tests.builders.reasons import raises
from tests.builders.transactions import CHAIN_ID, KEY, RECIPIENT, legacy, signed, unsigned
from tests.servers.upstream import RemoteChain

SLOTS = ((RECIPIENT, (Slot(bytes(32)), Slot(b"\x01" * 32))), (Address(bytes(20)), ()))
EACH_TYPE = [
    legacy(chain_id=None),
    legacy(to=None, data=b"\x60\x00", gas=90_000),
    signed(type=ACCESS_LIST, access_list=SLOTS, gas=40_000),
    signed(data=b"\x01\x02", gas=30_000, access_list=SLOTS),
    signed(
        type=SET_CODE,
        gas=90_000,
        authorizations=(
            sign_authorization(0, RECIPIENT, 2**63, KEY),
            sign_authorization(CHAIN_ID, RECIPIENT, 0, KEY),
        ),
    ),
]


def block_of(*told: Any) -> dict[str, Any]:
    """Return block 5 of another chain as its node returns it."""
    found = RemoteChain().block(5)
    assert found is not None
    return {**found, "transactions": list(told)}


def read(told: dict[str, Any], last: Transaction) -> tuple[Transaction, ...]:
    return read_replay(block_of(told), last.hash, CHAIN_ID).transactions


@pytest.mark.parametrize("sent", EACH_TYPE, ids=lambda one: f"type {one.type}")
def test_transaction_of_each_type_is_read_as_signed(sent):
    assert read(pool_transaction(sent), sent) == (sent,)


def test_optional_members_and_other_spellings_are_accepted():
    sent = signed(data=b"")
    told = pool_transaction(sent)
    told["r"], told["s"] = f"0x{sent.r:064x}", f"0x{sent.s:064x}"
    told["data"] = told.pop("input")
    del told["v"], told["accessList"]
    assert read(told, sent) == (sent,)
    old = legacy()
    told = pool_transaction(old)
    del told["type"]
    assert read(told, old) == (old,)


def test_unsigned_transaction_has_the_named_sender():
    sent = impersonate(unsigned(), RECIPIENT)
    assert read(pool_transaction(sent), sent) == (sent,)


def test_transactions_after_the_requested_one_are_not_read():
    first, second = signed(nonce=0), signed(nonce=1)
    told = block_of(pool_transaction(first), pool_transaction(second), {"type": "0x7e"}, 5)
    replay = read_replay(told, second.hash, CHAIN_ID)
    assert replay.transactions == (first, second)
    assert replay.block.number == 5


def test_the_environment_is_the_blocks_own():
    sent = signed()
    told = block_of(pool_transaction(sent))
    override = read_replay(told, sent.hash, CHAIN_ID).override
    assert override.time == int(told["timestamp"], 16)
    assert override.gas_limit == 30_000_000
    assert override.base_fee == 8 * 10**9
    assert override.fee_recipient == b"\x22" * 20
    assert override.prev_randao == bytes(32)


def test_blob_transaction_is_read_without_blobs():
    sent = blob_transaction(2)
    assert read(pool_transaction(sent), sent) == (sent,)


@pytest.mark.parametrize("type_", ["0x5", "0x7e"])
def test_a_type_that_is_not_executed_is_refused(type_):
    sent = signed()
    words = f"transaction 0x{sent.hash.hex()} of block 5 .* transactions of type {type_} are not"
    with raises(ForkReason.CANNOT_REPLAY, kind=ForkRefused, match=words):
        read({**pool_transaction(sent), "type": type_}, sent)


def test_transaction_for_another_chain_is_refused():
    sent = signed()
    with raises(
        ForkReason.CANNOT_REPLAY,
        kind=ForkRefused,
        match="invalid chain id for signer: have 43112 want 7",
    ):
        read_replay(block_of(pool_transaction(sent)), sent.hash, 7)


def test_transaction_with_an_impossible_signature_is_refused():
    sent = signed()
    decoded = decode_unsigned(encode_signed(unsigned(), Signature(sent.r, ORDER - sent.s, 0)))
    told = pool_transaction(sent) | {
        "s": hex(decoded.s), "v": "0x0", "yParity": "0x0", "hash": "0x" + decoded.hash.hex(),
    }  # fmt: skip
    with raises(
        ForkReason.CANNOT_REPLAY, kind=ForkRefused, match="invalid transaction v, r, s values"
    ):
        read(told, sent)


@pytest.mark.parametrize(
    "change",
    [
        {"nonce": "0x1"}, {"input": "0x01"}, {"to": None}, {"s": "0x1"}, {"gas": "0x5209"},
        {"accessList": [{"address": "0x" + "11" * 20, "storageKeys": []}]},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_transaction_with_wrong_hash_is_refused(change):
    sent = signed()
    with pytest.raises(
        BadUpstreamAnswer, match=r"the fields of transaction 0x\w+ do not have its hash"
    ):
        read({**pool_transaction(sent), **change}, sent)


def test_block_without_the_requested_transaction_is_refused():
    words = f"the returned block 5 does not contain transaction 0x{signed(nonce=1).hash.hex()}"
    with pytest.raises(BadUpstreamAnswer, match=words):
        read(pool_transaction(signed()), signed(nonce=1))


@pytest.mark.parametrize(
    "change",
    [
        {"hash": "0x12"}, {"type": "x"}, {"v": "0x5"}, {"r": None}, {"nonce": None}, {"to": "0x12"},
        {"accessList": 5}, {"accessList": [5]}, {"chainId": None},
        {"accessList": [{"address": "0x" + "11" * 20, "storageKeys": [5]}]},
    ],
    ids=str,
)  # fmt: skip
def test_unreadable_input_is_refused(change):
    sent = signed()
    with pytest.raises(BadUpstreamAnswer, match="does not have the requested form"):
        read({**pool_transaction(sent), **change}, sent)


@pytest.mark.parametrize("listed", [None, ["0x" + "11" * 32]])
def test_a_block_without_transactions_as_objects_is_refused(listed):
    with pytest.raises(BadUpstreamAnswer, match="does not have the requested form"):
        read_replay({**block_of(), "transactions": listed}, signed().hash, CHAIN_ID)
