"""Both engines on the phases of coreth in which contracts move other assets, and on accounts that hold them."""

from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cchain_app.config import BLACKHOLE
from cchain_app.evm.coreth import (
    ASSET_BALANCE,
    ASSET_CALL,
    GRANITE_FEATURES,
    MULTI_COIN_SLOT,
    AssetContracts,
    CorethFeatures,
    DelegatedCalls,
)
from cchain_app.evm.engine import BlockEnv, CallMessage
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address, Slot
from tests.builders.bytecode import assemble, created, deploy_code
from tests.builders.cchain import COIN, SENDERS, MemoryState
from tests.conformance.evm.test_coreth_differential import (
    INNER,
    KEYS,
    NATIVE,
    OPCODES,
    OUTER,
    REFERENCE,
    env_of_phase,
    sent_in,
    slots,
)
from tests.conformance.evm.test_differential_traces import EVERYTHING, assert_same_trace
from tests.searching import cases

_WORKING, _RUN = AssetContracts.WORKING, DelegatedCalls.RUN
_PHASES: Final = {
    "launch": ("istanbul", CorethFeatures(True, AssetContracts.NONE, False, _RUN)),
    "Apricot 2": ("berlin", CorethFeatures(False, _WORKING, False, _RUN)),
    "Apricot 6": ("london", CorethFeatures(False, _WORKING, False, _RUN)),
    "Apricot 6 since August 2025": (
        "london",
        CorethFeatures(False, _WORKING, False, DelegatedCalls.INVALID),
    ),
    "Granite": ("cancun", GRANITE_FEATURES),
}
"""The forks of Ethereum and the features. Accounts can hold other assets in all phases."""
ASSET: Final = int.from_bytes(b"\x12" * 32, "big")
ASSET_KEY: Final = ASSET | 1 << 248
MARK: Final = int.from_bytes(MULTI_COIN_SLOT, "big")
HOLDER, ABSENT = Address(b"\xcc" * 20), Address(b"\xdd" * 20)
"""An account with nothing but another asset, and none."""
MADE: Final = created(OUTER, 1)
IDENTITY: Final = Address((4).to_bytes(20, "big"))
RECIPIENTS: Final = (
    INNER,
    OUTER,
    HOLDER,
    ABSENT,
    MADE,
    SENDERS[0],
    IDENTITY,
    BLACKHOLE,
    ASSET_BALANCE,
    ASSET_CALL,
)


def _input(to: Address, asset: int, amount: int) -> bytes:
    return to + asset.to_bytes(32, "big") + amount.to_bytes(32, "big")


def _asset_code(
    opcode: str, contract: Address, data: bytes, *, size: int, gas: int, value: int
) -> bytes:
    """Return code that calls a contract and logs its success and output."""
    words = b"".join(
        assemble(
            int.from_bytes(data[place : place + 32].ljust(32, b"\0"), "big"), f"{place} MSTORE"
        )
        for place in range(0, len(data), 32)
    )
    paid = f"{value} " if opcode in {"CALL", "CALLCODE"} else ""
    call = assemble(f"32 288 {size} 0 {paid}{int.from_bytes(contract, 'big')} {gas}")
    return (
        words
        + call
        + OPCODES[opcode]
        + assemble("320 MSTORE RETURNDATASIZE 352 MSTORE 96 288 LOG0")
    )


def _calls(recipients: tuple[Address, ...]) -> st.SearchStrategy[bytes]:
    """Return strategies for code that calls the contract that moves assets, also one call through another."""
    single = st.builds(
        _input, st.sampled_from(recipients), st.sampled_from([ASSET, MARK]), st.integers(0, 4)
    )
    nested = single.map(lambda inner: _input(ASSET_CALL, ASSET, 1) + inner)
    data = st.one_of(single, single, nested)
    opcodes = st.sampled_from(["CALL", "CALL", "CALL", "CALLCODE", "DELEGATECALL", "STATICCALL"])
    gas = st.sampled_from([19_999, 30_000, 60_000, 200_000])
    return data.flatmap(
        lambda given: st.builds(
            _asset_code,
            opcodes,
            st.just(ASSET_CALL),
            st.just(given),
            size=st.sampled_from([83, len(given), len(given), len(given) + 5]),
            gas=gas,
            value=st.sampled_from([0, 0, 1]),
        )
    )


def _balance(account: Address, size: int, opcode: str, gas: int) -> bytes:
    data = _input(account, ASSET, 0)
    return _asset_code(opcode, ASSET_BALANCE, data, size=size, gas=gas, value=0)


def _looked_at(account: Address, value: int) -> bytes:
    """Return code that logs the hash of an account's code and the gas of a call to it."""
    number = int.from_bytes(account, "big")
    return assemble(
        f"{number} EXTCODEHASH 288 MSTORE GAS 320 MSTORE 0 0 0 0 {value} {number} 0 CALL 352 MSTORE "
        "GAS 384 MSTORE 128 288 LOG0"
    )


def _create(runtime: bytes) -> bytes:
    code = deploy_code(runtime)
    return assemble(
        int.from_bytes(code, "big"), f"0 MSTORE {len(code)} {32 - len(code)} 0 CREATE POP"
    )


addresses = st.sampled_from(RECIPIENTS)
small = st.sampled_from([b"", assemble("STOP")])
steps = st.one_of(
    _calls(RECIPIENTS),
    _calls(RECIPIENTS),
    st.builds(
        _balance,
        addresses,
        st.sampled_from([51, 52, 52, 53]),
        st.sampled_from(["CALL", "STATICCALL", "DELEGATECALL"]),
        st.sampled_from([2_473, 2_474, 9_000]),
    ),
    st.builds(_looked_at, addresses, st.integers(0, 1)),
    slots,
    small.map(_create),
    st.just(assemble(f"{ASSET_KEY} SLOAD POP")),
    st.integers(0, 6).map(lambda value: assemble(f"{value} {ASSET_KEY} SSTORE")),
    st.just(assemble(f"1 {MARK} SSTORE 2 {MARK} SSTORE")),
)
inner_steps = st.one_of(
    slots, _calls((HOLDER, ABSENT, OUTER)), st.builds(_looked_at, addresses, st.just(0))
)
ends = st.sampled_from(
    [
        b"",
        b"",
        assemble("0 0 REVERT"),
        assemble("32 0 RETURN"),
        b"\xfe",
        assemble(int.from_bytes(HOLDER, "big"), "SELFDESTRUCT"),
        assemble(int.from_bytes(ABSENT, "big"), "SELFDESTRUCT"),
    ]
)


@st.composite
def worlds(draw: st.DrawFn) -> MemoryState:
    """Return a state with two contracts and some accounts that hold another asset."""
    state = MemoryState()
    for sender in SENDERS:
        state.put(sender, balance=100 * COIN, storage={ASSET_KEY: 3, MARK: 1})
    for address, code in ((OUTER, steps), (INNER, inner_steps)):
        body = b"".join(draw(st.lists(code, max_size=5)))
        stored: dict[int, int] = dict.fromkeys(draw(st.sets(st.sampled_from(KEYS[:2]))), 2)
        if draw(st.booleans()):
            stored |= {ASSET_KEY: 5, MARK: 1}
        state.put(
            address,
            nonce=1,
            code=body + draw(ends),
            storage=stored,
            balance=draw(st.integers(0, 2)),
        )
    held = {ASSET_KEY: draw(st.integers(1, 2)), MARK: 1}
    state.put(HOLDER, storage=held)
    if draw(st.booleans()):
        state.put(MADE, storage=held, balance=draw(st.integers(0, 1)))
    return state


def _env(phase: str) -> BlockEnv:
    return env_of_phase(*_PHASES[phase])


moves = st.builds(_input, addresses, st.just(ASSET), st.integers(0, 4))
targets = st.lists(
    st.one_of(
        st.just((OUTER, b"")),
        st.tuples(st.just(ASSET_CALL), moves),
        st.tuples(addresses, st.just(b"")),
    ),
    min_size=1,
    max_size=3,
)


def _blocks(
    phase: str, state: MemoryState, called: list[tuple[Address, bytes]], value: int
) -> tuple[BlockEnv, list[Transaction]]:
    env = _env(phase)
    if phase == "launch":
        # A write over a committed balance ended the reference's process: its refunds fell below zero.
        for contract in (OUTER, INNER):
            for key in (ASSET_KEY, MARK):
                state.storages[contract].pop(Slot(key.to_bytes(32, "big")), None)
    sent = [
        sent_in(env, to, place, gas=600_000, value=value if place else 0, data=data)
        for place, (to, data) in enumerate([(OUTER, b""), *called])
    ]
    return env, sent


@pytest.mark.parametrize("phase", _PHASES)
@given(state=worlds(), called=targets, value=st.integers(0, 1))
@settings(max_examples=cases(40), deadline=None)
def test_blocks_that_move_assets_agree(
    phase: str, state: MemoryState, called: list[tuple[Address, bytes]], value: int
) -> None:
    env, transactions = _blocks(phase, state, called, value)
    found, expected = (
        engine.execute_block(env, transactions, state, skip_invalid=True)
        for engine in (NATIVE, REFERENCE)
    )
    assert found.skipped == expected.skipped
    assert found.results == expected.results
    assert dict(found.changes.accounts) == dict(expected.changes.accounts)
    assert dict(found.changes.storage) == dict(expected.changes.storage)
    assert found.changes.cleared == expected.changes.cleared
    assert dict(found.changes.codes) == dict(expected.changes.codes)


@pytest.mark.parametrize("phase", ["launch", "Apricot 2", "Apricot 6", "Granite"])
@given(state=worlds(), called=targets)
@settings(max_examples=cases(15), deadline=None)
def test_traces_of_moved_assets_agree(
    phase: str, state: MemoryState, called: list[tuple[Address, bytes]]
) -> None:
    env, transactions = _blocks(phase, state, called, 0)
    found, expected = (
        engine.trace_block(env, transactions, state, EVERYTHING) for engine in (NATIVE, REFERENCE)
    )
    for one, other in zip(found.transactions, expected.transactions, strict=True):
        assert_same_trace(one, other)


@given(state=worlds(), to=st.sampled_from([OUTER, ASSET_CALL, ASSET_BALANCE]), data=moves)
@settings(max_examples=cases(40), deadline=None)
def test_calls_and_estimates_of_moved_assets_agree(
    state: MemoryState, to: Address, data: bytes
) -> None:
    env = _env("Apricot 2")
    message = CallMessage(SENDERS[0], to, 400_000, 0, 0, data)
    found, expected = (
        engine.call(env, message, state, with_access_list=True) for engine in (NATIVE, REFERENCE)
    )
    assert (found.error is None) == (expected.error is None)
    assert found._replace(error=None) == expected._replace(error=None)
    least, wanted = (
        engine.estimate(env, message, state, error_ratio=0.0) for engine in (NATIVE, REFERENCE)
    )
    assert least.gas == wanted.gas
