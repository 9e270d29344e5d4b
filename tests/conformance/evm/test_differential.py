"""Both engines and both tries on the same blocks and calls: they must agree in everything.

These tests need the native engine and fail if it has not been built.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from cchain_app.config import at_least
from cchain_app.evm.engine import (
    AccountChange,
    BlockEnv,
    CallInterrupted,
    CallMessage,
    CallRejected,
    CallResult,
    Engine,
    ExecutedBlock,
    ExecutionInvalid,
    GasAllowance,
    SlotChange,
    StateChanges,
)
from cchain_app.evm.select import select_engine, select_trie
from cchain_app.txs.signing import encode_authorization
from primitives.evm import ZERO_WORD, Address
from primitives.hashing import EMPTY_ROOT, keccak256
from tests.builders import bytecode, scenarios
from tests.builders.cchain import (
    SENDERS,
    MemoryState,
    authorization,
    block_env,
    call_message,
    transaction,
)
from tests.builders.scenarios import CONTRACTS
from tests.builders.tries import MemoryNodes
from tests.searching import cases

FORKS = ("berlin", "london", "shanghai", "cancun", "prague", "osaka")
GWEI = 10**9


@pytest.fixture(scope="module")
def native() -> Engine:
    return select_engine("native")


@pytest.fixture(scope="module")
def reference() -> Engine:
    return select_engine("reference")


class Tries:
    """The same state in both tries."""

    def __init__(self, state: MemoryState) -> None:
        self.native = select_trie("native", cache_bytes=1 << 20)
        self.python = select_trie("reference")
        self.nodes = MemoryNodes()
        self.root = EMPTY_ROOT
        self.update(whole(state))

    def update(self, changes: StateChanges) -> None:
        expected = self.python.update(self.root, changes, self.nodes)
        found = self.native.update(self.root, changes, self.nodes)
        assert found.root == expected.root
        assert dict(found.nodes) == dict(expected.nodes)
        self.nodes.apply(expected)
        self.native.commit(expected.root)
        self.root = expected.root


def whole(state: MemoryState) -> StateChanges:
    """Return the state change that creates a whole state from an empty one."""
    return StateChanges(
        accounts={
            address: AccountChange(None, account) for address, account in state.accounts.items()
        },
        storage={
            (address, slot): SlotChange(ZERO_WORD, word)
            for address, slots in state.storages.items()
            for slot, word in slots.items()
        },
    )


def assert_same_block(found: ExecutedBlock, expected: ExecutedBlock) -> None:
    """Compare part by part, so that a failure shows the part."""
    assert found.included == expected.included
    assert found.results == expected.results
    assert found.skipped == expected.skipped
    assert found.gas_used == expected.gas_used
    assert dict(found.changes.accounts) == dict(expected.changes.accounts)
    assert dict(found.changes.storage) == dict(expected.changes.storage)
    assert dict(found.changes.codes) == dict(expected.changes.codes)
    assert found.changes.cleared == expected.changes.cleared
    assert found.requests_hash == expected.requests_hash


def run_call(engine: Engine, env: BlockEnv, message: CallMessage, state: MemoryState) -> Any:
    try:
        return engine.call(env, message, state, with_access_list=True)
    except CallRejected as error:
        return str(error)


TOO_DEAR = frozenset({"out of gas", "gas uint64 overflow"})
TWO_REASONS = (*TOO_DEAR, "return data out of bounds", "stack underflow", "max initcode size")
"""Errors of instructions that may also lack gas."""


def assert_same_call(found: Any, expected: Any) -> None:
    """Compare two results in everything.

    If an instruction is invalid and also lacks gas, the engines may report either error. The
    reference cannot distinguish a gas overflow from missing gas. All of these errors use up all gas.
    """
    if isinstance(found, CallResult) and isinstance(expected, CallResult):
        words = {found.error or "", expected.error or ""}
        if words & TOO_DEAR and all(word.startswith(TWO_REASONS) for word in words):
            found = found._replace(error=expected.error)
    assert found == expected


slow = settings(
    max_examples=cases(20),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("fork", FORKS)
@slow
@given(data=st.data())
def test_engines_agree_on_random_blocks(
    native: Engine, reference: Engine, fork: str, data: st.DataObject
) -> None:
    state = scenarios.world(data.draw(scenarios.random_codes))
    tries = Tries(state)
    for number in (5, 6):
        actions = data.draw(scenarios.blocks)
        transactions = scenarios.as_transactions(actions, state, fork)
        env = block_env(fork, number=number, gas_limit=data.draw(st.sampled_from([10**7, 900_000])))
        expected = reference.execute_block(env, transactions, state, skip_invalid=True)
        found = native.execute_block(env, transactions, state, skip_invalid=True)
        event(f"included {len(expected.included)}")
        assert_same_block(found, expected)
        state.apply(expected.changes)
        tries.update(expected.changes)


messages = st.fixed_dictionaries(
    {
        "to": st.one_of(scenarios.parties, scenarios.parties, st.none()),
        "data": scenarios.datas,
        "gas": st.sampled_from([20_000, 21_000, 53_000, 100_000, 1_000_000]),
        "gas_price": st.sampled_from([0, 0, 0, 1, GWEI, 2 * GWEI]),
        "max_priority_fee": st.sampled_from([None, None, 0, GWEI, 3 * GWEI]),
        "value": st.sampled_from([0, 0, 1, 2**200]),
        "sender": scenarios.parties,
        "access_list": st.one_of(st.just(()), scenarios.access_lists),
    }
)


@pytest.mark.parametrize("fork", FORKS)
@settings(slow, max_examples=cases(40))
@given(code=scenarios.random_codes, changes=messages)
def test_engines_agree_on_random_calls(
    native: Engine, reference: Engine, fork: str, code: bytes, changes: dict[str, Any]
) -> None:
    state = scenarios.world(code)
    if not at_least(fork, "london"):
        changes |= {"max_priority_fee": None}
    message = call_message(**changes)
    env = block_env(fork)
    expected = run_call(reference, env, message, state)
    assert_same_call(run_call(native, env, message, state), expected)


@pytest.mark.parametrize("fork", FORKS)
@settings(slow, max_examples=cases(40))
@given(code=scenarios.random_codes)
def test_engines_agree_on_random_code(
    native: Engine, reference: Engine, fork: str, code: bytes
) -> None:
    state = scenarios.world(code)
    env = block_env(fork)
    for message in (
        call_message(CONTRACTS["random"], b"\x01\x02"),
        call_message(None, code),
    ):
        expected = run_call(reference, env, message, state)
        assert_same_call(run_call(native, env, message, state), expected)


@pytest.mark.parametrize("fork", FORKS)
def test_engines_agree_on_everything_that_a_call_can_see(
    native: Engine, reference: Engine, fork: str
) -> None:
    state = scenarios.world()
    state.hashes = {4: keccak256(b"4"), 0: keccak256(b"0")}
    for price in (0, 2 * GWEI):
        message = call_message(CONTRACTS["environment"], gas_price=price)
        expected = run_call(reference, block_env(fork), message, state)
        assert expected.error is None
        assert_same_call(run_call(native, block_env(fork), message, state), expected)


@pytest.mark.parametrize("fork", FORKS)
def test_engines_agree_on_the_deepest_recursion(
    native: Engine, reference: Engine, fork: str
) -> None:
    message = call_message(CONTRACTS["recursion"], gas=10**15)
    state = scenarios.world()
    expected = run_call(reference, block_env(fork), message, state)
    assert expected.error is None
    assert_same_call(run_call(native, block_env(fork), message, state), expected)


def test_engines_agree_on_delegations_in_calls(native: Engine, reference: Engine) -> None:
    state = scenarios.world()
    entries = tuple(
        encode_authorization(authorization(signer, to, nonce))
        for signer, to, nonce in (
            (1, CONTRACTS["counter"], 0),
            (2, CONTRACTS["proxy"], 3),
            (1, Address(bytes(20)), 1),
            (2, CONTRACTS["counter"], 0),
        )
    )
    for fork in ("prague", "osaka"):
        message = call_message(SENDERS[2], authorizations=entries)
        expected = run_call(reference, block_env(fork), message, state)
        assert expected.output == bytecode.words(1)
        assert_same_call(run_call(native, block_env(fork), message, state), expected)


@pytest.mark.parametrize("fork", FORKS)
@pytest.mark.parametrize("number", range(1, 0x12))
def test_engines_agree_on_precompiles(
    native: Engine, reference: Engine, fork: str, number: int
) -> None:
    state = scenarios.world()
    address = Address(number.to_bytes(20, "big"))
    for data in (b"", bytes(32), bytes(range(128)), bytes(213), bytes(384), b"\1" * 192):
        message = call_message(CONTRACTS["proxy"], bytecode.words(address) + data)
        expected = run_call(reference, block_env(fork), message, state)
        assert_same_call(run_call(native, block_env(fork), message, state), expected)
        direct = call_message(address, data)
        expected = run_call(reference, block_env(fork), direct, state)
        found = run_call(native, block_env(fork), direct, state)
        assert (found.error is None) == (expected.error is None)
        assert found._replace(error=None) == expected._replace(error=None)


@pytest.mark.parametrize(
    ("code", "gas"),
    [
        (bytecode.LOOP, 50_000),
        (bytecode.BAD_JUMP, 50_000),
        (bytecode.UNDERFLOW, 50_000),
        (bytecode.assemble("DUP1"), 50_000),
        (bytecode.assemble("1 SWAP1"), 50_000),
        (bytecode.assemble("1 2 3 4 LOG4"), 50_000),
        (bytecode.OVERFLOW, 50_000),
        (bytecode.assemble("1 JUMPDEST DUP1 2 JUMP"), 50_000),
        (bytecode.UNDEFINED, 50_000),
        (bytes([0x5F]), 50_000),
        (bytes([0x1E]), 50_000),
        (bytes([0x5C]), 50_000),
        (bytes([0x5E]), 50_000),
        (bytes([0x49]), 50_000),
        (bytes([0x4A]), 50_000),
        (bytes([0x48]), 50_000),
        (bytes([0xFE]), 50_000),
        (bytecode.COUNTER, 24_000),
        (bytecode.assemble("1 0 0 RETURNDATACOPY"), 50_000),
        (bytecode.ECHO_REVERT, 50_000),
        (bytecode.deploy_code(b"\xef"), 100_000),
        (bytecode.deploy_code(bytes(200)), 80_000),
        (bytecode.assemble("24577 0 RETURN"), 9_000_000),
    ],
)
@pytest.mark.parametrize("fork", FORKS)
def test_engines_agree_on_failure_messages(
    native: Engine, reference: Engine, fork: str, code: bytes, gas: int
) -> None:
    state = scenarios.world(code)
    for message in (
        call_message(CONTRACTS["random"], b"why", gas=gas),
        call_message(None, code, gas=gas + 40_000),
    ):
        expected = run_call(reference, block_env(fork), message, state)
        assert run_call(native, block_env(fork), message, state) == expected


def test_engines_agree_on_limits(native: Engine, reference: Engine) -> None:
    state = scenarios.world()
    for engine in (native, reference):
        for limit in ({"allowance": GasAllowance(200)}, {"time_limit": 0.0}):
            message = call_message(CONTRACTS["loop"], gas=10_000_000)
            with pytest.raises(CallInterrupted):
                engine.call(block_env(), message, state, **limit)
        allowance = GasAllowance(100_000)
        done = engine.call(
            block_env(), call_message(CONTRACTS["counter"]), state, allowance=allowance
        )
        assert done.error is None
        assert 100_000 - allowance.left == done.gas_used - 21_000
        too_little = GasAllowance(done.gas_used - 21_000 - 100)
        with pytest.raises(CallInterrupted):
            engine.call(
                block_env(), call_message(CONTRACTS["counter"]), state, allowance=too_little
            )


def test_engines_agree_that_a_block_is_invalid(native: Engine, reference: Engine) -> None:
    bad = [transaction(), transaction(nonce=2)]
    refusals = []
    for engine in (native, reference):
        with pytest.raises(ExecutionInvalid) as caught:
            engine.execute_block(block_env(), bad, scenarios.world(), skip_invalid=False)
        refusals.append(str(caught.value))
    assert refusals[0] == refusals[1]


def test_tries_agree_on_proofs() -> None:
    tries = Tries(scenarios.world())
    for address in (CONTRACTS["store"], SENDERS[0], scenarios.NOBODY):
        slots = [bytecode.words(number) for number in (0, 1, 5)]
        proofs = [
            trie.prove(tries.root, address, slots, tries.nodes)
            for trie in (tries.native, tries.python)
        ]
        assert proofs[0] == proofs[1]


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=140))
@settings(deadline=None)
def test_tries_agree_on_ordered_roots(items: list[bytes]) -> None:
    roots = {select_trie(name).ordered_root(items) for name in ("native", "reference")}
    assert len(roots) == 1
