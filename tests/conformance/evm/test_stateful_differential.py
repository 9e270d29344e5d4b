"""Both engines on the same blocks and calls of chains with stateful precompiles: they must agree in everything."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cchain_app.evm.engine import CallMessage, CallRejected, Engine, ExecutedBlock
from cchain_app.evm.select import select_engine
from cchain_app.evm.tracing import Recording
from cchain_app.precompiles.addresses import ADDRESSES, PrecompileKey
from primitives.evm import Address
from primitives.hashing import keccak256
from tests.builders import bytecode
from tests.builders.bytecode import assemble
from tests.builders.cchain import BASE_FEE, SENDERS, MemoryState, transaction
from tests.builders.stateful import HASH, MESSAGE, predicate, stateful_env, stateful_state
from tests.searching import cases

NATIVE, REFERENCE = select_engine("native"), select_engine("reference")
WORDS = ",".join(["uint256"] * 8)
NAMES = (
    "readAllowList(address)", "setAdmin(address)", "setEnabled(address)", "setManager(address)",
    "setNone(address)", "mintNativeCoin(address,uint256)", f"setFeeConfig({WORDS})", "getFeeConfig()",
    "getFeeConfigLastChangedAt()", "allowFeeRecipients()", "areFeeRecipientsAllowed()",
    "currentRewardAddress()", "disableRewards()", "setRewardAddress(address)", "getBlockchainID()",
    "getVerifiedWarpMessage(uint32)", "getVerifiedWarpBlockHash(uint32)", "sendWarpMessage(bytes)",
)  # fmt: skip
SELECTORS = tuple(keccak256(name.encode())[:4] for name in NAMES)
PROXY = Address(b"\xcc" * 20)
FORKS = ("shanghai", "cancun", "prague", "osaka")

words = st.one_of(
    st.integers(0, 200),
    st.sampled_from([int.from_bytes(account, "big") for account in SENDERS]),
    st.sampled_from([2**31 - 1, 2**31, 2**32, 2**63, 2**64 - 1, 2**64 + 5, 2**255, 2**256 - 1]),
).map(lambda number: number.to_bytes(32, "big"))
arguments = st.builds(
    lambda parts, cut: b"".join(parts)[: len(parts) * 32 - cut],
    st.lists(words, max_size=9),
    st.sampled_from([0, 0, 0, 1, 12]),
)
sent = st.binary(max_size=100).map(
    lambda data: (32).to_bytes(32, "big") + len(data).to_bytes(32, "big") + data
)
inputs = st.one_of(
    st.builds(lambda selector, rest: selector + rest, st.sampled_from(SELECTORS), arguments),
    sent.map(lambda rest: SELECTORS[-1] + rest),
    st.binary(max_size=5),
)
precompiles = st.sampled_from(tuple(ADDRESSES.values()))
payloads = st.sampled_from([MESSAGE, HASH])
lists = st.lists(st.builds(predicate, payloads, st.integers(0, 9)), max_size=2).map(tuple)


@st.composite
def calls(draw: st.DrawFn) -> CallMessage:
    """Return a call of a precompile: from an account, or by a contract that passes its input on."""
    to, data = draw(precompiles), draw(inputs)
    if draw(st.booleans()):
        to, data = PROXY, to.rjust(32, b"\0") + data
    return CallMessage(
        draw(st.sampled_from(SENDERS)),
        to,
        draw(st.sampled_from([400_000, 700_000, 1_000_000])) + draw(st.integers(0, 20_000)),
        0,
        0,
        data,
        draw(lists),
    )


def passing_on(opcode: bytes) -> bytes:
    """Return code that calls the address in the first word of its input with the rest, and returns the result."""
    copied = assemble("32 CALLDATASIZE SUB 32 0 CALLDATACOPY")
    value = assemble(0) if opcode in {b"\xf1", b"\xf2"} else b""
    made = assemble("0 0 32 CALLDATASIZE SUB 0") + value + assemble("0 CALLDATALOAD GAS") + opcode
    returned = assemble("POP RETURNDATASIZE 0 0 RETURNDATACOPY RETURNDATASIZE 0 RETURN")
    return copied + made + returned


@pytest.mark.parametrize("opcode", [0xF1, 0xF2, 0xF4, 0xFA])
@given(message=calls(), fork=st.sampled_from(FORKS), failed=st.integers(0, 3))
@settings(max_examples=cases(40), deadline=None)
def test_calls_agree(opcode: int, message: CallMessage, fork: str, failed: int) -> None:
    state = stateful_state()
    state.put(PROXY, code=passing_on(bytes([opcode])))
    env = stateful_env(fork=fork, failed={b"": failed})

    assert outcome(NATIVE, env, message, state) == outcome(REFERENCE, env, message, state)


def outcome(engine: Any, env: Any, message: CallMessage, state: MemoryState) -> Any:
    recording = Recording(frames=True, changes=True, state=True)
    try:
        called = engine.call(env, message, state, with_access_list=True)
    except CallRejected as error:
        return str(error)
    traced = engine.trace_call(env, message, state, recording)
    frames = [
        (frame.error, frame.gas_used, frame.output, frame.logs, frame.precompile)
        for frame in traced.frames
    ]
    return called, frames, traced.logs, traced.state.changes


@st.composite
def blocks(draw: st.DrawFn) -> list[Any]:
    """Return transactions that call precompiles, create contracts, and have warp messages."""
    nonces = dict.fromkeys(range(len(SENDERS)), 0)
    made = []
    for _ in range(draw(st.integers(1, 5))):
        sender = draw(st.integers(0, len(SENDERS) - 1))
        creates = draw(st.integers(0, 4)) == 0
        data = bytecode.deploy_code(b"\x01") if creates else draw(inputs)
        made.append(
            transaction(
                sender,
                to=None if creates else draw(precompiles),
                nonce=nonces[sender],
                value=0,
                data=data,
                gas=draw(st.sampled_from([300_000, 900_000])),
                access_list=draw(lists),
                max_fee_per_gas=2 * BASE_FEE,
                max_priority_fee_per_gas=1,
            )
        )
        if draw(st.booleans()):
            nonces[sender] += 1
    return made


key_sets = st.sets(st.sampled_from(list(PrecompileKey)), min_size=1).map(sorted)


@given(transactions=blocks(), keys=key_sets, data=st.data())
@settings(max_examples=cases(60), deadline=None)
def test_blocks_agree(transactions: list[Any], keys: list[PrecompileKey], data: Any) -> None:
    state = stateful_state(*keys)
    failed = {item.hash: data.draw(st.integers(0, 3)) for item in transactions if item.access_list}
    env = stateful_env(*keys, failed=failed)

    assert_same(run(NATIVE, env, transactions, state), run(REFERENCE, env, transactions, state))


def run(engine: Engine, env: Any, transactions: list[Any], state: MemoryState) -> ExecutedBlock:
    return engine.execute_block(env, transactions, state, skip_invalid=True)


def assert_same(found: ExecutedBlock, expected: ExecutedBlock) -> None:
    assert found.skipped == expected.skipped
    assert found.results == expected.results
    assert dict(found.changes.accounts) == dict(expected.changes.accounts)
    assert dict(found.changes.storage) == dict(expected.changes.storage)
    assert dict(found.changes.codes) == dict(expected.changes.codes)
