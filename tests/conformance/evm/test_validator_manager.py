"""The validator manager contract on both engines: its messages are those that the P-Chain reads, and it takes the P-Chain's."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from eth_abi.abi import decode

from cchain_app.evm.engine import CallMessage, Log
from cchain_app.evm.select import select_engine
from cchain_app.evm.tracing import TracingEngine
from cchain_app.precompiles import addresses, predicates
from cchain_app.precompiles.sent import sent_messages
from explorer_app.managers import contract
from explorer_app.managers.contract import (
    COIN,
    MANAGER_ADDRESS,
    TERMS,
    ManagerKind,
    StakeTerms,
    ValidationStatus,
)
from explorer_app.names.abi_json import read_functions
from platform_app.txs.l1 import PChainOwner
from platform_app.txs.warp import (
    ConversionData,
    ConversionValidator,
    L1Message,
    L1ValidatorRegistration,
    L1ValidatorWeight,
    RegisterL1Validator,
    SubnetToL1Conversion,
    build_l1_message,
    initial_validation_id,
    parse_l1_message,
)
from primitives.evm import Address, Slot
from primitives.ids import ID, P_CHAIN_ID, NodeID
from primitives.warp import (
    AddressedCall,
    UnsignedMessage,
    build_payload,
    build_signed,
    parse_payload,
)
from tests.builders.cchain import BASE_FEE, SENDERS, MemoryState, transaction
from tests.builders.stateful import CHAIN, NETWORK, SOURCE, stateful_env, stateful_state

OWNER, STAKER, STRANGER = 0, 1, 2
"""Senders by index."""
SUBNET = ID(b"\x11" * 32)
FIRST, SECOND, THIRD = (NodeID(bytes((number,)) * 20) for number in (1, 2, 3))
KEY = b"\x07" * 48
TIME = 1_700_000_000
HALF_A_DAY = 12 * 60 * 60
OF_P_OWNERS = [b"\x09" * 20, b"\x05" * 20]
P_OWNER = PChainOwner(1, tuple(sorted(OF_P_OWNERS)))  # type: ignore[arg-type]
CONVERSION = ConversionData(
    SUBNET,
    ID(CHAIN),
    MANAGER_ADDRESS,
    (ConversionValidator(bytes(FIRST), KEY, 100), ConversionValidator(bytes(THIRD), KEY, 40)),
)
CONVERTED = initial_validation_id(SUBNET, 0)
"""The first validation of the conversion."""
REGISTER = contract.initiate_registration(SECOND, KEY, OF_P_OWNERS, 20)


@pytest.fixture(params=["native", "reference"], scope="module")
def engine(request: pytest.FixtureRequest) -> TracingEngine:
    return select_engine(request.param)


@dataclass
class ManagedL1:
    """A chain with the contract, one block for each call."""

    engine: TracingEngine
    terms: StakeTerms
    time: int = TIME
    state: MemoryState = field(default_factory=stateful_state)
    number: int = 5
    logs: tuple[Log, ...] = ()
    """Of the last call."""

    def __post_init__(self) -> None:
        self.state.put(
            MANAGER_ADDRESS,
            nonce=1,
            code=contract.code(),
            storage=contract.storage(SENDERS[OWNER], self.terms),
        )

    def call(
        self,
        data: bytes,
        sender: int = OWNER,
        *,
        value: int = 0,
        said: L1Message | bytes | None = None,
        holds: bool = True,
        to: Address = MANAGER_ADDRESS,
        **given: Any,
    ) -> bool:
        """Send a transaction, perhaps with a message of the P-Chain; return whether it succeeded."""
        account = self.state.account(SENDERS[sender])
        sent = transaction(
            sender,
            to=to,
            data=data,
            value=value,
            gas=3_000_000,
            nonce=0 if account is None else account.nonce,
            max_fee_per_gas=2 * BASE_FEE,
            access_list=() if said is None else (self.message(said, **given),),
        )
        failed = {} if holds else {sent.hash: 1}
        self.number += 1
        env = stateful_env(failed=failed, timestamp=self.time, number=self.number)
        block = self.engine.execute_block(env, [sent], self.state, skip_invalid=False)
        self.state.apply(block.changes)
        (result,) = block.results
        self.logs = result.logs
        return result.succeeded

    def message(
        self, said: L1Message | bytes, *, source: ID = P_CHAIN_ID, address: bytes = b""
    ) -> Any:
        """Return the entry of an access list."""
        content = said if isinstance(said, bytes) else build_l1_message(said)
        payload = build_payload(AddressedCall(address, content))
        raw = build_signed(UnsignedMessage(NETWORK, source, payload), 1, b"\x01" * 96)
        return addresses.WARP, tuple(map(Slot, predicates.pack(raw)))

    def read(self, data: bytes, sender: int = STRANGER, value: int = 0) -> bytes:
        """Return the output of a call."""
        return self._called(data, sender, value).output

    def refusal(self, data: bytes, sender: int = OWNER, value: int = 0) -> str:
        """Return the words of a revert."""
        result = self._called(data, sender, value)
        assert result.error is not None
        (words,) = decode(["string"], result.output[4:])
        return str(words)

    def _called(self, data: bytes, sender: int, value: int) -> Any:
        env = stateful_env(timestamp=self.time, number=self.number)
        message = CallMessage(SENDERS[sender], MANAGER_ADDRESS, 3_000_000, 0, value, data)
        return self.engine.call(env, message, self.state)

    def sent(self) -> L1Message:
        """Return the request of the last call to the P-Chain."""
        (sent,) = sent_messages(self.logs)
        call = parse_payload(sent.message.payload)
        assert isinstance(call, AddressedCall)
        assert call.source_address == MANAGER_ADDRESS
        return parse_l1_message(call.payload)

    def validator(self, validation_id: ID) -> contract.ManagedValidator:
        return contract.read_validator(self.read(contract.get_validator(validation_id)))

    @property
    def weight(self) -> int:
        return int.from_bytes(self.read(contract.getter("l1TotalWeight")), "big")

    def balance(self, sender: int) -> int:
        account = self.state.account(SENDERS[sender])
        assert account is not None
        return account.balance

    def begin(self) -> "ManagedL1":
        """Take the validators of the conversion."""
        data = contract.initialize_validator_set(CONVERSION)
        assert self.call(data, STRANGER, said=SubnetToL1Conversion(CONVERSION.conversion_id))
        return self

    def register(self, sender: int = OWNER, value: int = 0) -> ID:
        """Ask for the second validator, let the P-Chain add it, and return the validation."""
        assert self.call(REGISTER, sender, value=value)
        asked = self.sent()
        assert isinstance(asked, RegisterL1Validator)
        added = L1ValidatorRegistration(asked.validation_id, True)
        assert self.call(contract.complete_registration(), STRANGER, said=added)
        return asked.validation_id


def authority(engine: TracingEngine) -> ManagedL1:
    return ManagedL1(engine, TERMS[ManagerKind.AUTHORITY])


def stake(engine: TracingEngine) -> ManagedL1:
    return ManagedL1(engine, TERMS[ManagerKind.STAKE])


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
