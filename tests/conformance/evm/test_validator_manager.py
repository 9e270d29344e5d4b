"""The validator manager contract of an authority, on both engines: its messages are those that the P-Chain reads, and it takes the P-Chain's."""

from typing import Any

import pytest

from cchain_app.evm.tracing import TracingEngine
from explorer_app.managers import contract
from explorer_app.managers.contract import (
    COIN,
    TERMS,
    ManagerKind,
    ValidationStatus,
)
from explorer_app.names.abi_json import read_functions
from platform_app.txs.warp import (
    ConversionData,
    ConversionValidator,
    L1ValidatorRegistration,
    L1ValidatorWeight,
    RegisterL1Validator,
    SubnetToL1Conversion,
    build_l1_message,
    initial_validation_id,
)
from primitives.evm import Address
from primitives.ids import ID
from tests.builders.cchain import SENDERS
from tests.builders.managed_l1 import (
    CONVERSION,
    FIRST,
    HALF_A_DAY,
    KEY,
    OF_P_OWNERS,
    OWNER,
    P_OWNER,
    REGISTER,
    SECOND,
    STRANGER,
    SUBNET,
    THIRD,
    TIME,
    authority,
)
from tests.builders.stateful import SOURCE


def test_the_conversion_gives_the_first_validators(engine: TracingEngine) -> None:
    chain = authority(engine)
    assert chain.read(contract.getter("subnetID")) == bytes(32)

    chain.begin()

    assert chain.read(contract.getter("subnetID")) == bytes(SUBNET)
    assert chain.read(contract.getter("owner"))[12:] == SENDERS[OWNER]
    first, third = (chain.validator(initial_validation_id(SUBNET, place)) for place in (0, 1))
    assert (first.node_id, first.weight, first.status, first.start_time) == (
        bytes(FIRST),
        100,
        ValidationStatus.ACTIVE,
        TIME,
    )
    assert (third.node_id, third.weight) == (bytes(THIRD), 40)
    assert chain.weight == 140
    found = chain.read(contract.get_validation_id(THIRD))
    assert found == bytes(initial_validation_id(SUBNET, 1))
    again = contract.initialize_validator_set(CONVERSION)
    assert chain.refusal(again) == "the validators of the conversion are set already"


@pytest.mark.parametrize(
    "given",
    [
        {"holds": False},
        {"source": SOURCE},
        {"address": b"\x01" * 20},
        {"said": SubnetToL1Conversion(ID(b"\x02" * 32))},
        {"said": L1ValidatorRegistration(CONVERSION.conversion_id, True)},
        {"said": build_l1_message(SubnetToL1Conversion(CONVERSION.conversion_id)) + b"\0"},
        {"said": b""},
        {"said": None},
    ],
    ids=str,
)
def test_another_message_gives_no_validators(engine: TracingEngine, given: dict[str, Any]) -> None:
    chain = authority(engine)
    said = {"said": SubnetToL1Conversion(CONVERSION.conversion_id)} | given

    assert not chain.call(contract.initialize_validator_set(CONVERSION), **said)

    assert chain.read(contract.getter("subnetID")) == bytes(32)
    assert chain.refusal(REGISTER) == "the validators of the conversion are not set yet"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"manager_chain_id": SOURCE}, "the conversion names another manager"),
        ({"manager_address": b"\x01" * 20}, "the conversion names another manager"),
        ({"validators": (ConversionValidator(bytes(FIRST), KEY[1:], 1),)}, "a BLS key has 48 bytes"),
        ({"validators": (ConversionValidator(b"\x01", KEY, 1),)}, "a node ID has 20 bytes, not all of them 0"),
        ({"validators": (ConversionValidator(bytes(20), KEY, 1),)}, "a node ID has 20 bytes, not all of them 0"),
        ({"validators": (ConversionValidator(bytes(FIRST), KEY, 0),)}, "a validator needs a weight"),
        ({"validators": (ConversionValidator(bytes(FIRST), KEY, 1),) * 2}, "the node is registered already"),
    ],
)  # fmt: skip
def test_another_conversion_is_refused(
    engine: TracingEngine, changes: dict[str, Any], words: str
) -> None:
    values = {name: getattr(CONVERSION, name) for name in ConversionData.__slots__} | changes

    data = contract.initialize_validator_set(ConversionData(**values))

    assert authority(engine).refusal(data) == words


def test_the_owner_s_validator_lives_through_all_stages(engine: TracingEngine) -> None:
    chain = authority(engine).begin()

    assert chain.call(REGISTER)
    asked = chain.sent()
    expiry = TIME + HALF_A_DAY
    assert asked == RegisterL1Validator(SUBNET, bytes(SECOND), KEY, expiry, P_OWNER, P_OWNER, 20)
    validation_id = asked.validation_id
    assert chain.validator(validation_id).status == ValidationStatus.PENDING_ADDED
    assert chain.refusal(contract.initiate_removal(validation_id)) == "the validator is not active"
    assert chain.refusal(REGISTER) == "the node is registered already"
    added = L1ValidatorRegistration(validation_id, True)
    refused = L1ValidatorRegistration(validation_id, False)
    assert not chain.call(contract.complete_registration(), said=refused)
    assert chain.call(contract.complete_registration(), STRANGER, said=added)
    assert not chain.call(contract.complete_registration(), said=added)
    assert not chain.call(contract.complete_removal(), said=added)
    assert not chain.call(contract.complete_removal(), said=refused), "it was not asked for"

    assert chain.call(contract.initiate_weight_update(validation_id, 30))
    assert chain.sent() == L1ValidatorWeight(validation_id, 1, 30)
    assert chain.weight == 170
    for nonce in (0, 2):
        unawaited = L1ValidatorWeight(validation_id, nonce, 30)
        assert not chain.call(contract.complete_weight_update(), said=unawaited)
    assert chain.call(contract.resend_weight(validation_id), STRANGER)
    assert chain.sent() == L1ValidatorWeight(validation_id, 1, 30)
    weighed = L1ValidatorWeight(validation_id, 1, 30)
    assert chain.call(contract.complete_weight_update(), STRANGER, said=weighed)
    assert not chain.call(contract.complete_weight_update(), said=weighed)
    assert chain.refusal(contract.resend_weight(validation_id)) == "no message is pending"
    assert chain.validator(validation_id).received_nonce == 1

    chain.time += 1
    assert chain.call(contract.initiate_removal(validation_id))
    assert chain.sent() == L1ValidatorWeight(validation_id, 2, 0)
    assert chain.weight == 140
    assert chain.call(contract.complete_removal(), STRANGER, said=refused)
    ended = chain.validator(validation_id)
    assert (ended.status, ended.end_time) == (ValidationStatus.COMPLETED, TIME + 1)
    assert chain.read(contract.get_validation_id(SECOND)) == bytes(32)
    assert chain.call(REGISTER), "the node may come back"


def test_only_the_owner_decides(engine: TracingEngine) -> None:
    chain = authority(engine).begin()
    first = initial_validation_id(SUBNET, 0)
    others = (contract.initiate_weight_update(first, 1), contract.transfer_ownership(SENDERS[2]))
    for data in (REGISTER, *others):
        assert chain.refusal(data, STRANGER) == "only the owner may do this"
    removal = contract.initiate_removal(first)
    assert chain.refusal(removal, STRANGER) == "only the owner or the staker may do this"
    assert chain.refusal(REGISTER, value=1) == "there is no stake here"
    assert (
        chain.refusal(contract.transfer_ownership(Address(bytes(20)))) == "there must be an owner"
    )
    zero = contract.initiate_weight_update(first, 0)
    assert chain.refusal(zero) == "a validator without weight is to be removed"
    short = contract.initiate_registration(SECOND, KEY[1:], OF_P_OWNERS, 20)
    assert chain.refusal(short) == "a BLS key has 48 bytes"

    assert chain.call(contract.transfer_ownership(SENDERS[STRANGER]))

    assert chain.refusal(REGISTER) == "only the owner may do this"
    assert chain.call(REGISTER, STRANGER)


@pytest.mark.parametrize(
    ("threshold", "count", "words"),
    [
        (2, 1, "the owner's threshold does not fit"),
        (0, 1, "the owner's threshold does not fit"),
        (1, -2, "the owner's addresses are not sorted"),
        (1, -1, "the owner's addresses are not sorted"),
    ],
)
def test_owners_that_the_p_chain_would_refuse_are_refused(
    engine: TracingEngine, threshold: int, count: int, words: str
) -> None:
    chain = authority(engine).begin()
    lists = {1: [OF_P_OWNERS[0]], -1: [OF_P_OWNERS[0]] * 2, -2: OF_P_OWNERS}
    owner = (threshold, lists[count])
    signature = (
        "initiateValidatorRegistration(bytes,bytes,(uint32,address[]),(uint32,address[]),uint64)"
    )

    data = contract._call(signature, bytes(SECOND), KEY, (0, []), owner, 20)

    assert chain.refusal(data) == words


def test_the_last_validator_stays(engine: TracingEngine) -> None:
    chain = authority(engine).begin()

    assert chain.call(contract.initiate_removal(initial_validation_id(SUBNET, 0)))

    removal = contract.initiate_removal(initial_validation_id(SUBNET, 1))
    assert chain.refusal(removal) == "the last validator stays"


def test_the_call_data_is_that_of_the_artifact() -> None:
    calls = {
        contract.initialize_validator_set(CONVERSION),
        REGISTER,
        contract.complete_registration(),
        contract.initiate_weight_update(SUBNET, 1),
        contract.complete_weight_update(),
        contract.initiate_removal(SUBNET),
        contract.complete_removal(),
        contract.resend_weight(SUBNET),
        contract.withdraw(SENDERS[0]),
        contract.transfer_ownership(SENDERS[0]),
        contract.get_validator(SUBNET),
        contract.get_stake(SUBNET),
        contract.get_validation_id(FIRST),
        *map(contract.getter, ("owner", "subnetID", "l1TotalWeight", "stakePerWeight")),
    }
    known = {
        bytes.fromhex(one.selector.removeprefix("0x"))
        for one in read_functions(contract.artifact()["abi"])
    }

    assert {data[:4] for data in calls} <= known
    assert len(calls) == 17


def test_the_genesis_account_has_the_code_and_the_terms() -> None:
    account = contract.genesis_account(SENDERS[0], TERMS[ManagerKind.STAKE])

    assert account["code"] == contract.artifact()["deployedBytecode"]
    assert {int(slot, 16): int(value, 16) for slot, value in account["storage"].items()} == {
        0: int.from_bytes(SENDERS[0], "big"),
        1: COIN,
        2: COIN,
        3: 20,
        4: 3_600,
    }
    poor = contract.genesis_account(SENDERS[0], TERMS[ManagerKind.AUTHORITY])
    assert [int(slot, 16) for slot in poor["storage"]] == [0]
