"""Checks that need no account: each has its own reason and go-ethereum's message."""

from dataclasses import replace

import pytest

from cchain_app.config import ExecutionLimits
from cchain_app.pool.checks import (
    AdmissionRules,
    check_after_sender,
    check_before_sender,
    check_size,
)
from cchain_app.pool.entry import PoolLimits
from cchain_app.pool.errors import PoolReason, PoolRejection
from cchain_app.precompiles import addresses
from cchain_app.txs.codec import decode_unsigned
from cchain_app.txs.signing import sign_authorization
from tests.builders.reasons import raises
from tests.builders.stateful import predicate, stateful_env
from tests.builders.transactions import KEY, RECIPIENT, legacy, signed

RULES = AdmissionRules(fork="prague", block_gas_limit=30_000_000)
NO_CAP = AdmissionRules("prague", 30_000_000, PoolLimits(fee_cap=None))
GWEI = 10**9


def check_stateless(transaction, rules):
    """Run all checks that need no state, in the order of a submission."""
    check_before_sender(transaction, rules)
    check_after_sender(transaction, rules)


def limited(fork, **limits):
    return AdmissionRules(fork, 30_000_000, execution=ExecutionLimits(**limits))


def under(fork, **limits):
    return AdmissionRules(fork, 30_000_000, PoolLimits(**limits))


def set_code(**changes):
    permission = sign_authorization(0, RECIPIENT, 0, KEY)
    return signed(**{"type": 4, "gas": 46_000, "authorizations": (permission,), **changes})


@pytest.mark.parametrize(
    "transaction",
    [
        signed(),
        legacy(),
        signed(type=1),
        set_code(),
        signed(to=None, data=b"\x00", gas=53_006),
        signed(max_priority_fee_per_gas=50 * GWEI),
        signed(nonce=2**64 - 2),
        signed(to=None, data=bytes(49_152), gas=600_000),
        signed(data=b"\x01" * 100_000, gas=4_021_000),
    ],
)
def test_a_valid_transaction_passes_before_and_after_its_sender_is_known(transaction):
    check_stateless(transaction, RULES)
    check_stateless(decode_unsigned(transaction.raw), RULES)


@pytest.mark.parametrize(
    ("transaction", "limits"),
    [
        (signed(gas=2**24 + 1, max_fee_per_gas=GWEI), {"transaction_gas": False}),
        (
            signed(gas=30_000_001, max_fee_per_gas=GWEI),
            {"transaction_gas": False, "block_gas": False},
        ),
        (signed(to=None, data=bytes(49_153), gas=900_000), {"code_size": 24_577}),
    ],
)
def test_a_chain_with_other_limits_admits_a_transaction_within_them(transaction, limits):
    check_stateless(transaction, limited("osaka", **limits))


@pytest.mark.parametrize(
    ("transaction", "rules", "reason", "message"),
    [
        (
            signed(gas=30_000_000, max_fee_per_gas=5_000 * GWEI),
            RULES,
            PoolReason.FEE_ABOVE_CAP,
            "tx fee (150.00 ether) exceeds the configured cap (100.00 ether)",
        ),
        (
            signed(max_fee_per_gas=GWEI),
            under("prague", fee_cap=1),
            PoolReason.FEE_ABOVE_CAP,
            "tx fee (0.00 ether) exceeds the configured cap (0.00 ether)",
        ),
        (
            legacy(chain_id=None),
            RULES,
            PoolReason.NOT_REPLAY_PROTECTED,
            "only replay-protected (EIP-155) transactions allowed over RPC",
        ),
        (
            signed(data=bytes(131_072)),
            RULES,
            PoolReason.OVERSIZED_TRANSACTION,
            "oversized data: transaction size 131189, limit 131072",
        ),
        (
            signed(type=1),
            under("istanbul"),
            PoolReason.TYPE_NOT_ACTIVE,
            "transaction type not supported: type 1 rejected, pool not yet in Berlin",
        ),
        (
            signed(),
            under("berlin"),
            PoolReason.TYPE_NOT_ACTIVE,
            "transaction type not supported: type 2 rejected, pool not yet in London",
        ),
        (
            set_code(),
            under("cancun"),
            PoolReason.TYPE_NOT_ACTIVE,
            "transaction type not supported: type 4 rejected, pool not yet in Prague",
        ),
        (
            signed(to=None, data=bytes(49_153), gas=900_000),
            RULES,
            PoolReason.INIT_CODE_TOO_LARGE,
            "max initcode size exceeded: code size 49153, limit 49152",
        ),
        (
            signed(gas=2**24 + 1, max_fee_per_gas=GWEI),
            under("osaka"),
            PoolReason.GAS_ABOVE_TRANSACTION_CAP,
            "transaction gas limit too high (cap: 16777216, tx: 16777217)",
        ),
        (
            signed(gas=30_000_001, max_fee_per_gas=GWEI),
            limited("osaka", transaction_gas=False),
            PoolReason.GAS_ABOVE_BLOCK_LIMIT,
            "exceeds block gas limit",
        ),
        (
            signed(gas=2**63, max_fee_per_gas=0, max_priority_fee_per_gas=0),
            limited("prague", block_gas=False),
            PoolReason.GAS_ABOVE_BLOCK_LIMIT,
            "exceeds block gas limit",
        ),
        (
            signed(to=None, data=bytes(201), gas=900_000),
            limited("osaka", code_size=100),
            PoolReason.INIT_CODE_TOO_LARGE,
            "max initcode size exceeded: code size 201, limit 200",
        ),
        (
            signed(gas=30_000_001),
            RULES,
            PoolReason.GAS_ABOVE_BLOCK_LIMIT,
            "exceeds block gas limit",
        ),
        (
            signed(max_priority_fee_per_gas=50 * GWEI + 1),
            RULES,
            PoolReason.TIP_ABOVE_FEE_CAP,
            "max priority fee per gas higher than max fee per gas",
        ),
        (
            signed(nonce=2**64 - 1),
            RULES,
            PoolReason.NONCE_AT_MAXIMUM,
            "nonce has max value",
        ),
        (
            signed(gas=20_999),
            RULES,
            PoolReason.INTRINSIC_GAS_TOO_LOW,
            "intrinsic gas too low: gas 20999, minimum needed 21000",
        ),
        (
            signed(to=None, data=b"\x00", gas=53_005),
            RULES,
            PoolReason.INTRINSIC_GAS_TOO_LOW,
            "intrinsic gas too low: gas 53005, minimum needed 53006",
        ),
        (
            signed(type=1, gas=25_299, access_list=((RECIPIENT, (bytes(32),)),)),
            RULES,
            PoolReason.INTRINSIC_GAS_TOO_LOW,
            "intrinsic gas too low: gas 25299, minimum needed 25300",
        ),
        (
            set_code(gas=45_999),
            RULES,
            PoolReason.INTRINSIC_GAS_TOO_LOW,
            "intrinsic gas too low: gas 45999, minimum needed 46000",
        ),
        (
            signed(data=b"\x01" * 100, gas=24_999),
            RULES,
            PoolReason.FLOOR_GAS_TOO_LOW,
            "insufficient gas for floor data gas cost: gas 24999, minimum needed 25000",
        ),
        (
            signed(max_priority_fee_per_gas=6),
            under("prague", minimum_tip=7),
            PoolReason.TIP_BELOW_MINIMUM,
            "transaction gas price below minimum: gas tip cap 6, minimum needed 7",
        ),
        (
            set_code(authorizations=()),
            RULES,
            PoolReason.NO_AUTHORIZATIONS,
            "set code tx must have at least one authorization tuple",
        ),
    ],
)
def test_invalid_transaction_is_refused_with_its_message(transaction, rules, reason, message):
    with raises(reason, kind=PoolRejection) as caught:
        check_stateless(transaction, rules)
    assert str(caught.value) == message


def test_checks_of_later_forks_are_not_applied():
    check_stateless(signed(to=None, data=bytes(49_153), gas=900_000), under("paris"))
    check_stateless(signed(data=b"\x01" * 100, gas=24_999), under("cancun"))
    check_stateless(signed(gas=2**24 + 1, max_fee_per_gas=GWEI), under("prague"))


def test_settings_relax_checks_of_the_endpoint():
    check_stateless(legacy(chain_id=None), under("prague", unprotected_allowed=True))
    check_stateless(signed(gas=30_000_000, max_fee_per_gas=5_000 * GWEI), NO_CAP)


def test_the_size_can_be_checked_before_decoding():
    check_size(131_072, RULES.limits)
    with raises(PoolReason.OVERSIZED_TRANSACTION, kind=PoolRejection):
        check_size(131_073, RULES.limits)


def test_first_fault_in_geths_order_is_reported():
    worst = signed(to=None, gas=0, nonce=2**64 - 1, data=bytes(131_072), max_fee_per_gas=0)
    faults = []
    for repair in ({}, {"data": bytes(49_153)}, {"data": b""}, {"max_fee_per_gas": GWEI},
                   {"nonce": 0}, {"gas": 53_000}):  # fmt: skip
        worst = replace(worst, **repair, raw=bytes(200) if repair else worst.raw)
        try:
            check_stateless(worst, RULES)
        except PoolRejection as error:
            faults.append(error.reason)
    assert faults == [
        PoolReason.OVERSIZED_TRANSACTION,
        PoolReason.INIT_CODE_TOO_LARGE,
        PoolReason.TIP_ABOVE_FEE_CAP,
        PoolReason.NONCE_AT_MAXIMUM,
        PoolReason.INTRINSIC_GAS_TOO_LOW,
    ]


def test_warp_messages_cost_what_they_cost_in_a_block():
    rules = replace(RULES, stateful=stateful_env().stateful)
    entry = predicate(signers=0b11)
    needed = 21_000 + 125_000 + 512 * len(entry[1]) + 250 * 2

    check_after_sender(signed(access_list=(entry,), gas=needed), rules)
    with raises(PoolReason.INTRINSIC_GAS_TOO_LOW):
        check_after_sender(signed(access_list=(entry,), gas=needed - 1), rules)


def test_an_entry_that_is_no_warp_message_is_refused_where_there_are_such_messages():
    transaction = signed(access_list=((addresses.WARP, (bytes(32),)),), gas=900_000)

    check_after_sender(transaction, RULES)
    with raises(PoolReason.NO_MESSAGE) as caught:
        check_after_sender(transaction, replace(RULES, stateful=stateful_env().stateful))
    assert str(caught.value) == "cannot unpack predicate bytes: no delimiter found: length (1)"
