"""Both engines on estimates, and on calls that override their environment: they must agree.

These tests need the native engine and fail if it has not been built.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cchain_app.evm.engine import BlockEnv, CallMessage, CallRejected, Engine
from cchain_app.evm.select import select_engine
from cchain_app.txs.signing import encode_authorization
from primitives.evm import Address, Slot
from tests.builders import bytecode, scenarios
from tests.builders.cchain import SENDERS, MemoryState, authorization, block_env, call_message
from tests.builders.scenarios import CONTRACTS, NOBODY
from tests.searching import cases

FORKS = ("berlin", "london", "shanghai", "cancun", "prague", "osaka")
GWEI = 10**9
MOST = 2_000_000
SLOT = Slot(bytes(31) + b"\x07")
READ_BLOB_BASE_FEE = bytes([0x4A]) + bytecode.assemble("0 MSTORE 32 0 RETURN")


@pytest.fixture(scope="module")
def native() -> Engine:
    return select_engine("native")


@pytest.fixture(scope="module")
def reference() -> Engine:
    return select_engine("reference")


def world(code: bytes = b"") -> MemoryState:
    """Return the scenarios' state, with tokens owned by the first sender."""
    state = scenarios.world(code)
    holder = int.from_bytes(SENDERS[0])
    state.put(CONTRACTS["token"], code=bytecode.TOKEN, storage={holder: 10**20})
    return state


def run_estimate(engine: Engine, env: BlockEnv, message: CallMessage, state: MemoryState) -> Any:
    try:
        return engine.estimate(env, message, state, error_ratio=0.015)
    except CallRejected as error:
        return str(error)


def nested(depth: int, data: bytes) -> bytes:
    """Return call data with which the proxy calls itself `depth` times, then the store."""
    for to in (CONTRACTS["store"], *[CONTRACTS["proxy"]] * depth):
        data = bytecode.words(to) + data
    return data


STORE = bytecode.words(5, 6)
MESSAGES = {
    "transfer": call_message(NOBODY, value=1),
    "transfer with an access list": call_message(
        NOBODY, value=1, access_list=((CONTRACTS["token"], (SLOT,)),)
    ),
    "transfer to a precompile": call_message(Address(bytes(19) + b"\x04"), value=1),
    "transfer beyond the balance": call_message(NOBODY, value=2**200),
    "transfer at a price": call_message(NOBODY, value=1, gas_price=2 * GWEI),
    "transfer below the base fee": call_message(NOBODY, value=1, gas_price=1),
    "token": call_message(CONTRACTS["token"], bytecode.transfer_call(NOBODY, 5)),
    "token beyond the balance": call_message(
        CONTRACTS["token"], bytecode.transfer_call(NOBODY, 10**21)
    ),
    "revert": call_message(CONTRACTS["echo_revert"], b"why"),
    "loop": call_message(CONTRACTS["loop"]),
    "bad jump": call_message(CONTRACTS["bad_jump"]),
    "refund": call_message(CONTRACTS["store_twice"], bytecode.words(7, 0, 0)),
    "gas below what data costs": call_message(CONTRACTS["counter"], b"\x01" * 99, gas=21_001),
    "gas below a transfer": call_message(CONTRACTS["counter"], gas=20_000),
    "gas that just does": call_message(CONTRACTS["counter"], gas=26_500),
    "gas that runs out": call_message(CONTRACTS["store"], STORE, gas=30_000),
    "access list": call_message(
        CONTRACTS["counter"], access_list=((CONTRACTS["counter"], (SLOT,)), (NOBODY, ()))
    ),
    "creation": call_message(None, bytecode.deploy_code(bytecode.TOKEN)),
    "creation without code": call_message(None, b""),
    "creation of bad code": call_message(None, bytecode.deploy_code(b"\xef")),
    "creation by create2": call_message(
        CONTRACTS["factory"], bytecode.words(1) + bytecode.deploy_code(bytecode.COUNTER)
    ),
    "one level of 63/64": call_message(CONTRACTS["proxy"], nested(0, STORE)),
    "four levels of 63/64": call_message(CONTRACTS["proxy"], nested(3, STORE)),
    "call with value": call_message(CONTRACTS["proxy"], nested(0, STORE), value=3),
    "recursion": call_message(CONTRACTS["recursion"]),
}


@pytest.mark.parametrize("fork", FORKS)
@pytest.mark.parametrize("name", MESSAGES)
def test_engines_agree_on_estimates(
    native: Engine, reference: Engine, fork: str, name: str
) -> None:
    message, state = MESSAGES[name], world()
    if message.gas == call_message(None).gas:
        message = message._replace(gas=MOST)
    expected = run_estimate(reference, block_env(fork), message, state)
    assert run_estimate(native, block_env(fork), message, state) == expected


@pytest.mark.parametrize("fork", ["prague", "osaka"])
def test_engines_agree_on_estimates_with_authorizations(
    native: Engine, reference: Engine, fork: str
) -> None:
    entry = encode_authorization(authorization(1, CONTRACTS["counter"], 0))
    for to in (SENDERS[1], NOBODY, None):
        message = call_message(to, authorizations=(entry,))
        expected = run_estimate(reference, block_env(fork), message, world())
        assert run_estimate(native, block_env(fork), message, world()) == expected


changes = st.fixed_dictionaries(
    {
        "to": st.one_of(scenarios.parties, st.none()),
        "data": scenarios.datas,
        "gas": st.sampled_from([21_000, 60_000, 400_000]),
        "gas_price": st.sampled_from([0, 0, 2 * GWEI]),
        "value": st.sampled_from([0, 0, 1]),
        "access_list": st.one_of(st.just(()), scenarios.access_lists),
    }
)


@pytest.mark.parametrize("fork", ["london", "osaka"])
@settings(
    max_examples=cases(25),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(code=scenarios.random_codes, changes=changes)
@example(code=b"", changes={"to": CONTRACTS["factory"], "gas": 60_000, "gas_price": 0})
def test_engines_agree_on_random_estimates(
    native: Engine, reference: Engine, fork: str, code: bytes, changes: dict[str, Any]
) -> None:
    state, message = world(code), call_message(**changes)
    expected = run_estimate(reference, block_env(fork), message, state)
    found = run_estimate(native, block_env(fork), message, state)
    if isinstance(expected, str) or expected.failure is None:
        assert found == expected
    else:
        # If an instruction has two errors, the engines may report either.
        assert found.failure._replace(error=None) == expected.failure._replace(error=None)


ORIGINS = {"ecrecover": 1, "sha256": 2, "ripemd160": 3, "identity": 4, "modexp": 5, "blake2f": 9}


def precompile(name: str) -> Address:
    return Address(ORIGINS[name].to_bytes(20, "big"))


@pytest.mark.parametrize("fork", FORKS)
@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("to", ["nobody", "counter", "identity", None])
def test_engines_agree_on_moved_precompiles(
    native: Engine, reference: Engine, fork: str, origin: str, to: str | None
) -> None:
    places = {"nobody": NOBODY, "counter": CONTRACTS["counter"], "identity": precompile("identity")}
    place = None if to is None else places[to]
    if place == precompile(origin):
        place = NOBODY
    env = block_env(fork, precompile_moves=((precompile(origin), place),))
    state = world()
    for target in (precompile(origin), precompile("identity"), NOBODY, CONTRACTS["counter"]):
        for message in (
            call_message(target, bytes(range(213))),
            call_message(CONTRACTS["proxy"], bytecode.words(target) + bytes(range(213))),
        ):
            expected = reference.call(env, message, state, with_access_list=True)
            found = native.call(env, message, state, with_access_list=True)
            assert found._replace(error=None) == expected._replace(error=None)
            assert (found.error is None) == (expected.error is None)


def test_engines_agree_on_code_where_a_precompile_was(native: Engine, reference: Engine) -> None:
    state = world()
    state.put(precompile("sha256"), code=bytecode.COUNTER, storage={0: 41})
    env = block_env(precompile_moves=((precompile("sha256"), None),))
    message = call_message(precompile("sha256"))
    expected = reference.call(env, message, state)
    assert expected.output == bytecode.words(42)
    assert native.call(env, message, state) == expected
    estimated = run_estimate(reference, env, message, state)
    assert run_estimate(native, env, message, state) == estimated


def test_moved_precompile_is_restored_after_the_call(native: Engine, reference: Engine) -> None:
    state, message = world(), call_message(precompile("identity"), b"hi")
    env = block_env(precompile_moves=((precompile("identity"), NOBODY),))
    for engine in (native, reference):
        assert engine.call(env, message, state).output == b""
        assert engine.call(block_env(), message, state).output == b"hi"


@pytest.mark.parametrize("fork", ["cancun", "prague", "osaka"])
@pytest.mark.parametrize("price", [None, 0, 7, 2**128 - 1])
def test_engines_agree_on_a_given_blob_base_fee(
    native: Engine, reference: Engine, fork: str, price: int | None
) -> None:
    state = world(READ_BLOB_BASE_FEE)
    message = call_message(CONTRACTS["random"])
    env = block_env(fork, blob_base_fee=price)
    expected = reference.call(env, message, state)
    assert expected.output == bytecode.words(1 if price is None else price)
    assert native.call(env, message, state) == expected
    with_blobs = message._replace(blob_hashes=(b"\x01" + bytes(31),))
    assert native.call(env, with_blobs, state).output == bytecode.words(0)
    assert reference.call(env, with_blobs, state).output == bytecode.words(0)


def test_before_cancun_a_blob_base_fee_has_no_effect(native: Engine, reference: Engine) -> None:
    state = world(READ_BLOB_BASE_FEE)
    env = block_env("shanghai", blob_base_fee=7)
    expected = reference.call(env, call_message(CONTRACTS["random"]), state)
    assert expected.error == "invalid opcode: BLOBBASEFEE"
    assert native.call(env, call_message(CONTRACTS["random"]), state) == expected
