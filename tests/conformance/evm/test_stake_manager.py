"""The validator manager contract with proof of stake, on both engines: staking, its limits, and the return of stakes."""

from eth_abi.abi import decode

from cchain_app.evm.tracing import TracingEngine
from explorer_app.managers import contract
from explorer_app.managers.contract import (
    COIN,
    StakeTerms,
    ValidationStatus,
)
from platform_app.txs.warp import (
    L1ValidatorRegistration,
    L1ValidatorWeight,
    RegisterL1Validator,
    initial_validation_id,
)
from tests.builders.cchain import SENDERS
from tests.builders.managed_l1 import (
    CONVERTED,
    KEY,
    OF_P_OWNERS,
    OWNER,
    REGISTER,
    SECOND,
    STAKER,
    STRANGER,
    SUBNET,
    ManagedL1,
    stake,
)


def test_a_staker_joins_and_leaves_with_the_stake(engine: TracingEngine) -> None:
    chain = stake(engine).begin()
    before = chain.balance(STAKER)
    assert chain.refusal(REGISTER, STAKER) == "the stake is not that of the weight"
    wrong = 20 * COIN - 1
    assert chain.refusal(REGISTER, STAKER, wrong) == "the stake is not that of the weight"

    validation_id = chain.register(STAKER, 20 * COIN)

    staked = decode(["address", "uint256"], chain.read(contract.get_stake(validation_id)))
    assert staked == (f"0x{SENDERS[STAKER].hex()}", 20 * COIN)
    chain.time += contract.CHURN_PERIOD
    for sender in (OWNER, STRANGER):
        words = chain.refusal(contract.initiate_removal(validation_id), sender)
        assert words == "only the owner or the staker may do this"
    change = contract.initiate_weight_update(validation_id, 10)
    assert chain.refusal(change) == "the weight follows from the stake"
    assert chain.call(contract.initiate_removal(validation_id), STAKER)
    assert chain.sent() == L1ValidatorWeight(validation_id, 1, 0)
    assert before - chain.balance(STAKER) >= 20 * COIN
    removed = L1ValidatorRegistration(validation_id, False)
    assert chain.call(contract.complete_removal(), STRANGER, said=removed)
    assert before - chain.balance(STAKER) < COIN, "all but gas"
    assert not chain.call(contract.complete_removal(), STRANGER, said=removed), "it returns once"
    assert chain.read(contract.get_stake(validation_id))[32:] == bytes(32)


def test_a_registration_that_expired_returns_the_stake(engine: TracingEngine) -> None:
    chain = stake(engine).begin()
    before = chain.balance(STAKER)
    assert chain.call(REGISTER, STAKER, value=20 * COIN)
    asked = chain.sent()
    assert isinstance(asked, RegisterL1Validator)
    never = L1ValidatorRegistration(asked.validation_id, False)

    assert chain.call(contract.complete_removal(), STRANGER, said=never)

    assert before - chain.balance(STAKER) < COIN
    assert chain.weight == 140
    assert chain.validator(asked.validation_id).status == ValidationStatus.COMPLETED


def test_stakes_change_a_fifth_of_the_weight_in_an_hour(engine: TracingEngine) -> None:
    chain = stake(engine).begin()
    words = "the total weight would change too much in this period"
    whale = contract.initiate_registration(SECOND, KEY, OF_P_OWNERS, 29)
    assert chain.refusal(whale, STAKER, 29 * COIN) == words
    chain.register(STAKER, 20 * COIN)
    removal = contract.initiate_removal(initial_validation_id(SUBNET, 1))
    chain.time += contract.CHURN_PERIOD - 1
    assert chain.refusal(removal) == words
    chain.time += 1
    assert chain.refusal(removal) == words, "40 of 160"
    assert chain.call(contract.initiate_weight_update(initial_validation_id(SUBNET, 1), 8))
    assert chain.refusal(contract.initiate_weight_update(CONVERTED, 99)) == words


def test_a_staker_may_leave_with_more_than_a_fifth_of_the_weight(engine: TracingEngine) -> None:
    chain = stake(engine).begin()
    validation_id = chain.register(STAKER, 20 * COIN)
    for weight in (70, 45, 25):
        chain.time += contract.CHURN_PERIOD
        assert chain.call(contract.initiate_weight_update(CONVERTED, weight))
    assert chain.weight == 85
    chain.time += contract.CHURN_PERIOD

    assert chain.call(contract.initiate_removal(validation_id), STAKER), "20 of 85"

    assert chain.sent() == L1ValidatorWeight(validation_id, 1, 0)
    words = "the total weight would change too much in this period"
    assert chain.refusal(contract.initiate_weight_update(CONVERTED, 24)) == words, "it counts"
    chain.time += contract.CHURN_PERIOD
    assert chain.call(contract.initiate_weight_update(CONVERTED, 24))


def test_a_staker_may_leave_in_the_hour_of_the_stake(engine: TracingEngine) -> None:
    chain = stake(engine).begin()
    validation_id = chain.register(STAKER, 20 * COIN)

    assert chain.call(contract.initiate_removal(validation_id), STAKER)


def test_a_stake_below_the_minimum_is_refused(engine: TracingEngine) -> None:
    chain = ManagedL1(engine, StakeTerms(COIN, 21 * COIN)).begin()

    assert chain.refusal(REGISTER, STAKER, 20 * COIN) == "the stake is too small"


def test_a_stake_that_its_account_does_not_take_can_be_withdrawn(engine: TracingEngine) -> None:
    chain = stake(engine).begin()
    validation_id = chain.register(STAKER, 20 * COIN)
    chain.time += contract.CHURN_PERIOD
    assert chain.call(contract.initiate_removal(validation_id), STAKER)
    plain = chain.state.account(SENDERS[STAKER])
    assert plain is not None
    chain.state.put(SENDERS[STAKER], nonce=plain.nonce, balance=plain.balance, code=b"\xfe")
    removed = L1ValidatorRegistration(validation_id, False)

    assert chain.call(contract.complete_removal(), STRANGER, said=removed)

    chain.state.put(SENDERS[STAKER], nonce=plain.nonce, balance=plain.balance)
    before = chain.balance(STRANGER)
    assert chain.call(contract.withdraw(SENDERS[STRANGER]), STAKER)
    assert chain.balance(STRANGER) == before + 20 * COIN
    assert chain.call(contract.withdraw(SENDERS[STRANGER]), STAKER)
    assert chain.balance(STRANGER) == before + 20 * COIN, "once"


def test_the_owner_ends_validations_of_the_conversion_beside_stakes(engine: TracingEngine) -> None:
    chain = ManagedL1(engine, StakeTerms(COIN, COIN)).begin()
    first = initial_validation_id(SUBNET, 0)

    assert chain.call(contract.initiate_weight_update(first, 99))
    assert chain.call(contract.initiate_removal(first))

    assert chain.sent() == L1ValidatorWeight(first, 2, 0)
