"""Signatures whose signer the environment overrides, in both engines: only ecrecover is affected."""

from dataclasses import replace

import pytest

from cchain_app.evm.engine import BlockEnv, Engine
from cchain_app.evm.select import select_engine
from cchain_app.evm.tracing import Recording
from cchain_app.txs.transaction import LEGACY, Transaction
from primitives.evm import Address, Hash
from primitives.secp256k1 import sign
from tests.builders import bytecode
from tests.builders.cchain import (
    JUNK_KEYS,
    SENDERS,
    MemoryState,
    block_env,
    call_message,
    genesis_state,
)
from tests.builders.transactions import signed
from tests.conformance.evm.test_differential import assert_same_block

FORKS = ("berlin", "london", "shanghai", "cancun", "prague", "osaka")
ECRECOVER = Address(bytes(19) + b"\x01")
PROXY = Address(b"\xc0" * 20)
STRANGER, OTHER = Address(b"\x57" * 20), Address(b"\x58" * 20)
NONSENSE = b"\xff" * 64 + b"\x1b"
"""No point of the curve has this r."""
DIGEST = b"\xd1" * 32
RECOVERY_GAS = 3000


@pytest.fixture
def state() -> MemoryState:
    made = genesis_state()
    made.put(PROXY, nonce=1, code=bytecode.PROXY)
    return made


def given(*signers: tuple[bytes, Address], fork: str = "prague") -> BlockEnv:
    return block_env(fork, signers=signers)


def question(signature: bytes, digest: bytes = DIGEST) -> bytes:
    """Return the input of ecrecover: digest, v, r, s."""
    return digest + signature[64:].rjust(32, b"\0") + signature[:64]


def real_signature() -> bytes:
    found = sign(Hash(DIGEST), JUNK_KEYS[0])
    return bytecode.words(found.r, found.s) + bytes([27 + found.y_parity])


def answer(engine: Engine, env: BlockEnv, data: bytes, state: MemoryState) -> bytes:
    return engine.call(env, call_message(ECRECOVER, data), state).output


def test_invalid_signature_has_the_given_signer(engine: Engine, state: MemoryState) -> None:
    assert answer(engine, given(), question(NONSENSE), state) == b""
    found = answer(engine, given((NONSENSE, STRANGER)), question(NONSENSE), state)
    assert found == bytecode.words(STRANGER)


def test_given_signer_applies_to_any_digest(engine: Engine, state: MemoryState) -> None:
    env = given((NONSENSE, STRANGER))
    for digest in (bytes(32), b"\xff" * 32):
        assert answer(engine, env, question(NONSENSE, digest), state) == bytecode.words(STRANGER)


def test_a_real_signature_gets_another_signer(engine: Engine, state: MemoryState) -> None:
    signature = real_signature()
    assert answer(engine, given(), question(signature), state) == bytecode.words(SENDERS[0])
    found = answer(engine, given((signature, STRANGER)), question(signature), state)
    assert found == bytecode.words(STRANGER)


def test_other_signatures_are_recovered_normally(engine: Engine, state: MemoryState) -> None:
    env = given((NONSENSE, STRANGER))
    signature = real_signature()
    assert answer(engine, env, question(signature), state) == bytecode.words(SENDERS[0])
    assert answer(engine, env, question(NONSENSE[:64] + b"\x1c"), state) == b""
    assert answer(engine, env, question(NONSENSE)[:127], state) == b""
    assert answer(engine, env, b"", state) == b""


def test_each_signature_has_its_own_signer(engine: Engine, state: MemoryState) -> None:
    second = NONSENSE[:64] + b"\x1c"
    env = given((NONSENSE, STRANGER), (second, OTHER))
    assert answer(engine, env, question(NONSENSE), state) == bytecode.words(STRANGER)
    assert answer(engine, env, question(second), state) == bytecode.words(OTHER)


def test_short_ecrecover_input_is_padded_with_zeros(engine: Engine, state: MemoryState) -> None:
    signature = b"\x01" * 32 + bytes(32) + b"\x1b"
    short = question(signature)[:96]
    assert answer(engine, given((signature, STRANGER)), short, state) == bytecode.words(STRANGER)


def test_gas_used_is_unchanged(engine: Engine, state: MemoryState) -> None:
    message = call_message(ECRECOVER, question(NONSENSE))
    usual = engine.call(given(), message, state)
    found = engine.call(given((NONSENSE, STRANGER)), message, state)
    assert (found.gas_used, found.gas_peak) == (usual.gas_used, usual.gas_peak)

    too_little = message._replace(gas=usual.gas_used - 1)
    failed = engine.call(given((NONSENSE, STRANGER)), too_little, state)
    assert (failed.error, failed.output) == ("out of gas", b"")


def test_a_moved_precompile_takes_them_along(engine: Engine, state: MemoryState) -> None:
    env = replace(given((NONSENSE, STRANGER)), precompile_moves=((ECRECOVER, OTHER),))
    message = call_message(OTHER, question(NONSENSE))
    assert engine.call(env, message, state).output == bytecode.words(STRANGER)
    assert answer(engine, env, question(NONSENSE), state) == b""


def test_given_signers_end_with_the_call(engine: Engine, state: MemoryState) -> None:
    answer(engine, given((NONSENSE, STRANGER)), question(NONSENSE), state)
    assert answer(engine, given(), question(NONSENSE), state) == b""


def test_calls_are_traced_with_them(engine: Engine, state: MemoryState) -> None:
    message = call_message(PROXY, bytecode.words(ECRECOVER) + question(NONSENSE))
    trace = engine.trace_call(  # type: ignore[attr-defined]
        given((NONSENSE, STRANGER)), message, state, Recording(frames=True)
    )
    assert trace.output == bytecode.words(1, STRANGER)
    assert trace.frames[1].output == bytecode.words(STRANGER)


def test_blocks_are_traced_with_them(engine: Engine, state: MemoryState) -> None:
    traced = engine.trace_block(  # type: ignore[attr-defined]
        given((NONSENSE, STRANGER)), asking(), state, Recording(frames=True)
    )
    assert [transaction.output for transaction in traced.transactions] == [
        bytecode.words(1, STRANGER)
    ] * 2


def asking() -> list[Transaction]:
    """Return two transactions that call ecrecover through the proxy."""
    data = bytecode.words(ECRECOVER) + question(NONSENSE)
    return [
        signed(
            key=JUNK_KEYS[0], type=LEGACY, nonce=nonce, to=PROXY, value=0, data=data, gas=200_000
        )
        for nonce in range(2)
    ]


@pytest.mark.parametrize("fork", FORKS)
def test_both_engines_make_the_same_block(fork: str, state: MemoryState) -> None:
    env = given((NONSENSE, STRANGER), fork=fork)
    native, reference = (
        select_engine(name).execute_block(env, asking(), state, skip_invalid=False)
        for name in ("native", "reference")
    )
    assert_same_block(native, reference)
    assert all(result.succeeded for result in native.results)


@pytest.mark.parametrize("fork", FORKS)
def test_both_engines_estimate_the_same(fork: str, state: MemoryState) -> None:
    message = call_message(PROXY, bytecode.words(ECRECOVER) + question(NONSENSE))
    env = given((NONSENSE, STRANGER), fork=fork)
    native, reference = (
        select_engine(name).estimate(env, message, state, error_ratio=0.0)
        for name in ("native", "reference")
    )
    assert native == reference
    assert native.gas is not None
    assert native.gas > 21_000 + RECOVERY_GAS
