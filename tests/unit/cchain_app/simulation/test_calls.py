"""The transaction made of a call: default values, and the reasons for rejection."""

import pytest

from cchain_app.evm.engine import AccountState
from cchain_app.simulation import plan
from cchain_app.simulation.calls import GasLeft, PreparedCall, prepare
from cchain_app.txs.request import CallRequest, unsigned
from cchain_app.txs.signing import UnsignedTransaction, sign_authorization
from primitives.evm import Address, Hash
from primitives.hashing import EMPTY_HASH
from primitives.hexadecimal import checksum_address
from tests.builders.cchain import JUNK_KEYS, block_env
from tests.builders.reasons import raises

SENDER, RECIPIENT = Address(b"\xaa" * 20), Address(b"\xbb" * 20)
LEFT = GasLeft(block=30_000_000, request=50_000_000)
RICH = AccountState(7, 10**20, EMPTY_HASH)
FREE = block_env(base_fee=0)
DEAR = block_env(base_fee=100)


def prepared(*, validate=False, left=LEFT, env=FREE, account=RICH, **fields) -> PreparedCall:
    request = CallRequest(sender=SENDER, to=RECIPIENT, **fields)
    return prepare(request, account, env, left, validate=validate)


def test_call_defaults_are_the_senders_nonce_and_the_blocks_gas():
    call = prepared()
    assert (call.transaction.type, call.transaction.nonce, call.transaction.gas) == (
        2,
        7,
        30_000_000,
    )
    assert (call.message.gas, call.message.gas_price, call.message.nonce) == (30_000_000, 0, None)
    assert not call.capped


def test_gas_of_a_call_is_limited_by_the_total():
    call = prepared(left=GasLeft(30_000_000, 60_000))
    assert (call.message.gas, call.capped) == (60_000, True)


def test_call_above_the_blocks_remaining_gas_is_refused():
    assert prepared(gas=30_000_000).message.gas == 30_000_000
    with raises(
        plan.SimulationReason.BLOCK_GAS_LIMIT,
        kind=plan.SimulationRefused,
        match=r"^block gas limit reached: remaining: 30000000, required: 30000001$",
    ):
        prepared(gas=30_000_001)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, 2),
        ({"gas_price": 1}, 0),
        ({"gas_price": 1, "access_list": ((RECIPIENT, ()),)}, 1),
        ({"max_fee_per_gas": 2, "access_list": ((RECIPIENT, ()),)}, 2),
        ({"blob_hashes": (Hash(b"\x01" * 32),)}, 3),
        ({"authorizations": (sign_authorization(0, RECIPIENT, 0, JUNK_KEYS[0]),)}, 4),
    ],
)
def test_the_fields_make_the_type(fields, kind):
    assert prepared(**fields).transaction.type == kind


def test_the_hash_is_that_of_the_bytes_without_a_signature():
    """The expected hash is from tests/vectors/tracing/exchanges.json, the first simulation."""
    sender = Address(bytes.fromhex("90f79bf6eb2c4f870365e785982e1f101e93b906"))
    to = Address(bytes.fromhex("610178da211fef7d417bc0e6fed39f05609ad788"))
    request = CallRequest(sender=sender, to=to, data=(9).to_bytes(32, "big"))
    made = unsigned(request, chain_id=43112, nonce=10, gas=30_000_000)
    assert made.hash.hex() == "c0e9f321f6310aa9bfae5b048a662adc18394be9494960ae1907b3d4e9e776c7"


def test_given_price_must_cover_the_base_fee_even_without_validation():
    assert prepared(env=DEAR).message.gas_price == 0
    assert (
        prepared(env=DEAR, max_fee_per_gas=200, max_priority_fee_per_gas=3).message.gas_price == 103
    )
    words = f"address {checksum_address(SENDER)}, maxFeePerGas: 99, baseFee: 100"
    with raises(plan.SimulationReason.FEE_BELOW_BASE_FEE, kind=plan.SimulationRefused, match=words):
        prepared(env=DEAR, max_fee_per_gas=99)
    with raises(
        plan.SimulationReason.FEE_BELOW_BASE_FEE,
        kind=plan.SimulationRefused,
        match="maxFeePerGas: 0, baseFee: 100",
    ):
        prepared(env=DEAR, validate=True)
    with raises(plan.SimulationReason.TIP_ABOVE_FEE, kind=plan.SimulationRefused):
        prepared(max_fee_per_gas=1, max_priority_fee_per_gas=2)


def test_nonces_count_with_validation_only():
    assert prepared(nonce=99).transaction.nonce == 99
    assert prepared(nonce=7, validate=True).message.nonce == 7
    with raises(
        plan.SimulationReason.NONCE_TOO_LOW,
        kind=plan.SimulationRefused,
        match=r"err: nonce too low: .* tx: 6 state: 7 \(supplied",
    ):
        prepared(nonce=6, validate=True)
    with raises(plan.SimulationReason.NONCE_TOO_HIGH, kind=plan.SimulationRefused):
        prepared(nonce=8, validate=True)
    last = AccountState(2**64 - 1, 10**20, EMPTY_HASH)
    with raises(
        plan.SimulationReason.CALL_NOT_APPLIED,
        kind=plan.SimulationRefused,
        match="nonce has max value",
    ):
        prepared(account=last, validate=True)


def test_sender_must_afford_value_and_fee_cap():
    words = f"err: insufficient funds for gas \\* price \\+ value: address {checksum_address(SENDER)} have 0 want 1 "
    with raises(plan.SimulationReason.NOT_ENOUGH_FUNDS, kind=plan.SimulationRefused, match=words):
        prepared(account=None, value=1)
    cost = 21_000 * 5 + 1
    poor = AccountState(0, cost - 1, EMPTY_HASH)
    with raises(
        plan.SimulationReason.NOT_ENOUGH_FUNDS,
        kind=plan.SimulationRefused,
        match=f"have {cost - 1} want {cost}",
    ):
        prepared(account=poor, gas=21_000, value=1, max_fee_per_gas=5)
    assert prepared(account=poor, gas=21_000, max_fee_per_gas=5)
    with raises(
        plan.SimulationReason.NOT_ENOUGH_FUNDS,
        kind=plan.SimulationRefused,
        match="required balance exceeds 256 bits",
    ):
        prepared(gas=21_000, gas_price=2**255)


BLOBS = (Hash(b"\x01" * 32),) * 2
BLOB_GAS = 2 * 2**17


def test_blobs_cost_the_price_of_their_block():
    assert prepared(blob_hashes=BLOBS, max_fee_per_blob_gas=1).blob_fee == BLOB_GAS
    overridden = block_env(base_fee=0, blob_base_fee=7)
    assert (
        prepared(env=overridden, blob_hashes=BLOBS, max_fee_per_blob_gas=9).blob_fee == 7 * BLOB_GAS
    )
    dear = block_env(
        base_fee=0, excess_blob_gas=10 * 5007716, blob_base_fee_update_fraction=5007716
    )
    assert prepared(env=dear, blob_hashes=BLOBS).blob_fee == 22026 * BLOB_GAS
    before_cancun = block_env("shanghai", base_fee=0, excess_blob_gas=None)
    assert prepared(env=before_cancun, blob_hashes=BLOBS).blob_fee == 0
    assert prepared().blob_fee == 0


def test_a_cap_of_blobs_must_pay_their_price_and_be_paid():
    env = block_env(base_fee=0, blob_base_fee=7)
    words = f"address {checksum_address(SENDER)} blobGasFeeCap: 6, blobBaseFee: 7"
    with raises(plan.SimulationReason.CALL_NOT_APPLIED, kind=plan.SimulationRefused, match=words):
        prepared(env=env, blob_hashes=BLOBS, max_fee_per_blob_gas=6)
    with raises(
        plan.SimulationReason.CALL_NOT_APPLIED,
        kind=plan.SimulationRefused,
        match="blobGasFeeCap: 0, blobBaseFee: 7",
    ):
        prepared(env=env, blob_hashes=BLOBS, validate=True)
    poor = AccountState(7, 9 * BLOB_GAS - 1, EMPTY_HASH)
    with raises(
        plan.SimulationReason.NOT_ENOUGH_FUNDS,
        kind=plan.SimulationRefused,
        match=f"want {9 * BLOB_GAS}",
    ):
        prepared(env=env, account=poor, blob_hashes=BLOBS, max_fee_per_blob_gas=9)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("intrinsic gas too low: have 1, want 2", plan.SimulationReason.INTRINSIC_GAS_TOO_LOW),
        (
            "insufficient gas for floor data gas cost: have 1, want 2",
            plan.SimulationReason.FLOOR_GAS_TOO_LOW,
        ),
        (
            "max initcode size exceeded: code size 2 limit 1",
            plan.SimulationReason.INIT_CODE_TOO_LARGE,
        ),
        ("something that only engines know", plan.SimulationReason.CALL_NOT_APPLIED),
    ],
)
def test_engine_message_maps_to_refusal_reason(words, reason):
    refused = plan.not_applied(words, 5)
    assert refused.reason is reason
    assert str(refused) == f"err: {words} (supplied gas 5)"


def test_unsigned_fields_are_those_that_are_signed():
    fields = UnsignedTransaction(2, 1, 0, 21_000, RECIPIENT, 1, 2, 1)
    made = unsigned(
        CallRequest(to=RECIPIENT, value=1, max_fee_per_gas=2, max_priority_fee_per_gas=1),
        chain_id=1, nonce=0, gas=21_000,
    )  # fmt: skip
    assert (made.chain_id, made.max_fee_per_gas, made.max_priority_fee_per_gas) == (
        fields.chain_id, fields.max_fee_per_gas, fields.max_priority_fee_per_gas,
    )  # fmt: skip
    assert (made.v, made.r, made.s) == (0, 0, 0)
