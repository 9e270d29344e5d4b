"""Both engines on the same blocks of coreth: slots whose keys lose a bit, precompiles, prices without refunds."""

from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cchain_app.config import BLACKHOLE
from cchain_app.evm.coreth import (
    CORETH,
    FORBIDDEN,
    GRANITE_FEATURES,
    P256_VERIFY,
    PREV_RANDAO,
    AssetContracts,
    CorethFeatures,
    DelegatedCalls,
)
from cchain_app.evm.engine import BlockEnv, CallMessage
from cchain_app.evm.select import select_engine
from cchain_app.evm.tracing import Recording
from cchain_app.evm.trie_python import PythonStateTrie
from cchain_app.precompiles.active import StatefulPrecompiles, WarpRules
from cchain_app.precompiles.addresses import WARP
from cchain_app.txs.transaction import DYNAMIC_FEE, LEGACY, Transaction
from primitives.evm import Address, Hash, Slot, Word
from primitives.hashing import EMPTY_ROOT
from tests.builders.bytecode import assemble
from tests.builders.cchain import BASE_FEE, COIN, SENDERS, MemoryState, block_env, transaction
from tests.builders.tries import MemoryNodes
from tests.searching import cases

NATIVE, REFERENCE = select_engine("native"), select_engine("reference")
OUTER, INNER = Address(b"\xaa" * 20), Address(b"\xbb" * 20)
KEYS: Final = tuple(
    (first << 248) | low for first in (0x00, 0x01, 0xFE, 0xFF) for low in (0x11, 0x12)
)
"""Pairs that differ in the bit alone."""
CALLED: Final = (INNER, P256_VERIFY, *FORBIDDEN, WARP)

keys = st.sampled_from(KEYS)


OPCODES: Final = {
    "CALL": b"\xf1",
    "CALLCODE": b"\xf2",
    "DELEGATECALL": b"\xf4",
    "STATICCALL": b"\xfa",
}


def _load(key: int) -> bytes:
    return assemble(f"{key} SLOAD POP")


def _store(key: int, value: int) -> bytes:
    return assemble(f"{value} {key} SSTORE")


def _log_gas() -> bytes:
    """Return code that makes the gas so far part of the receipt."""
    return assemble("GAS 0 MSTORE 32 0 LOG0")


def call_code(opcode: str, address: Address, gas: int) -> bytes:
    value = "0 " if opcode in {"CALL", "CALLCODE"} else ""
    number = int.from_bytes(address, "big")
    return assemble(f"0 0 160 0 {value}{number} {gas}") + OPCODES[opcode] + assemble("POP")


slots = st.one_of(
    keys.map(_load),
    st.builds(_store, keys, st.integers(0, 3)),
    st.just(_log_gas()),
)
steps = st.one_of(
    slots,
    slots,
    st.builds(
        call_code,
        st.sampled_from(["CALL", "CALLCODE", "DELEGATECALL", "STATICCALL"]),
        st.sampled_from(CALLED),
        st.sampled_from([0, 2_300, 5_000, 9_000, 60_000, 200_000]),
    ),
)
ends = st.sampled_from([b"", assemble("0 0 REVERT"), b"\xfe", assemble("0 SELFDESTRUCT")])
accesses = st.lists(
    st.builds(
        lambda address, listed: (
            address,
            tuple(Slot(key.to_bytes(32, "big")) for key in listed),
        ),
        st.sampled_from([OUTER, INNER]),
        st.lists(keys, max_size=3),
    ),
    max_size=2,
).map(tuple)


@st.composite
def worlds(draw: st.DrawFn) -> MemoryState:
    """Return a state with two contracts, of which one calls the other, and with some values."""
    state = MemoryState()
    for sender in SENDERS:
        state.put(sender, balance=100 * COIN)
    for address, code in ((OUTER, steps), (INNER, slots)):
        body = b"".join(draw(st.lists(code, max_size=8)))
        stored = {
            key: draw(st.integers(1, 3))
            for key in draw(st.sets(st.sampled_from(KEYS[:2] + KEYS[4:6])))
        }
        state.put(
            address,
            nonce=1,
            code=body + draw(ends),
            storage=stored,
            balance=draw(st.integers(0, 1)),
        )
    return state


def coreth_env(**fields: Any) -> BlockEnv:
    """Return the environment of a block of Granite."""
    env = block_env("cancun", **fields)
    warp = WarpRules(12345, b"\x07" * 32)
    return replace(
        env,
        variant=CORETH,
        coinbase=BLACKHOLE,
        prev_randao=PREV_RANDAO,
        difficulty=1,
        stateful=StatefulPrecompiles(warp=warp),
    )


def env_of_phase(fork: str, features: CorethFeatures) -> BlockEnv:
    """Return the environment of a block of an earlier phase."""
    return replace(
        block_env(fork),
        variant=CORETH,
        coreth=features,
        coinbase=BLACKHOLE,
        prev_randao=PREV_RANDAO,
        difficulty=1,
    )


def sent_in(
    env: BlockEnv, to: Address, nonce: int, *, gas: int, value: int, data: bytes = b""
) -> Transaction:
    """Return a transaction for a block, of the type with the fees of its phase."""
    return transaction(
        type=LEGACY if env.base_fee is None else DYNAMIC_FEE,
        to=to,
        nonce=nonce,
        value=value,
        data=data,
        gas=gas,
        max_fee_per_gas=2 * BASE_FEE,
        max_priority_fee_per_gas=1,
    )


def sent(to: Address, nonce: int, gas: int, access_list: Any, value: int) -> Transaction:
    return transaction(
        to=to,
        nonce=nonce,
        value=value,
        data=b"",
        gas=gas,
        access_list=access_list,
        max_fee_per_gas=2 * BASE_FEE,
        max_priority_fee_per_gas=1,
    )


@given(
    state=worlds(),
    gas=st.sampled_from([60_000, 400_000]),
    lists=st.lists(accesses, min_size=1, max_size=3),
    to=st.sampled_from([OUTER, OUTER, INNER, *FORBIDDEN, P256_VERIFY]),
    value=st.integers(0, 1),
)
@settings(max_examples=cases(120), deadline=None)
def test_blocks_agree(
    state: MemoryState, gas: int, lists: list[Any], to: Address, value: int
) -> None:
    transactions = [
        sent(to if place else OUTER, place, gas, listed, value if place else 0)
        for place, listed in enumerate(lists)
    ]
    found, expected = (
        engine.execute_block(coreth_env(), transactions, state, skip_invalid=True)
        for engine in (NATIVE, REFERENCE)
    )
    assert found.skipped == expected.skipped
    assert found.results == expected.results
    assert dict(found.changes.accounts) == dict(expected.changes.accounts)
    assert dict(found.changes.storage) == dict(expected.changes.storage)
    assert not any(slot[0] & 1 for _, slot in found.changes.storage)
    # Nothing is burned: what the senders paid is the coinbase's.
    assert _total(found.changes.accounts.values(), "before") == _total(
        found.changes.accounts.values(), "after"
    )
    assert _roots(found.changes) == _roots(expected.changes)


def _total(changes: Any, side: str) -> int:
    states = [getattr(change, side) for change in changes]
    return sum(state.balance for state in states if state is not None)


def _roots(changes: Any) -> Hash:
    """Return the root after a block's changes to the empty state, from both tries."""
    from cchain_app.evm.native_trie import NativeStateTrie

    nodes, storage = (
        MemoryNodes(),
        {
            key: change
            for key, change in changes.storage.items()
            if (there := changes.accounts.get(key[0])) is not None and there.after is not None
        },
    )
    known = replace(changes, storage=storage, cleared=frozenset())
    roots = {
        trie.update(EMPTY_ROOT, known, nodes).root
        for trie in (PythonStateTrie(of_coreth=True), NativeStateTrie(0, of_coreth=True))
    }
    (root,) = roots
    return root


@given(state=worlds(), gas=st.sampled_from([60_000, 400_000]), listed=accesses)
@settings(max_examples=cases(60), deadline=None)
def test_calls_and_traces_agree(state: MemoryState, gas: int, listed: Any) -> None:
    message = CallMessage(SENDERS[0], OUTER, gas, 0, 0, b"", listed)
    recording = Recording(frames=True)

    def outcome(engine: Any) -> Any:
        called = engine.call(coreth_env(), message, state, with_access_list=True)
        traced = engine.trace_call(coreth_env(), message, state, recording)
        # revm names the write in a static call before the lack of gas, also on chains of Ethereum.
        frames = [(bool(frame.error), frame.gas_used, frame.output) for frame in traced.frames]
        return called, frames, traced.logs

    assert outcome(NATIVE) == outcome(REFERENCE)


class _Reads(MemoryState):
    """A state that notes which slots were read."""

    def __init__(self) -> None:
        super().__init__()
        self.slots: list[int] = []

    def storage(self, address: Address, slot: Slot) -> Word:
        """Return the value of a slot."""
        self.slots.append(int.from_bytes(slot, "big"))
        return super().storage(address, slot)


@pytest.mark.parametrize("way", ["block", "call", "trace"])
@pytest.mark.parametrize("code", [_load(KEYS[2]), _store(KEYS[2], 2)], ids=["SLOAD", "SSTORE"])
def test_a_cold_slot_whose_key_has_the_bit_is_read_once(code: bytes, way: str) -> None:
    assert KEYS[2] == KEYS[0] | 1 << 248
    state = _Reads()
    state.put(SENDERS[0], balance=100 * COIN)
    state.put(OUTER, nonce=1, code=code, storage={KEYS[0]: 7})
    message = CallMessage(SENDERS[0], OUTER, 100_000, 0, 0, b"")
    if way == "block":
        transactions = [sent(OUTER, 0, 100_000, (), 0)]
        NATIVE.execute_block(coreth_env(), transactions, state, skip_invalid=False)
    elif way == "call":
        NATIVE.call(coreth_env(), message, state)
    else:
        NATIVE.trace_call(coreth_env(), message, state, Recording(frames=True))
    assert state.slots == [KEYS[0]]


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (GRANITE_FEATURES, KEYS[:1]),
        (CorethFeatures(False, AssetContracts.REVERTING, False, DelegatedCalls.RUN), KEYS[:1]),
        (CorethFeatures(False, AssetContracts.WORKING, False, DelegatedCalls.RUN), KEYS[:3:2]),
        (CorethFeatures(True, AssetContracts.NONE, False, DelegatedCalls.RUN), KEYS[:3:2]),
    ],
    ids=["Granite", "contracts that revert", "contracts that work", "launch"],
)
def test_balances_of_other_assets_are_read_only_where_they_matter(
    features: CorethFeatures, expected: tuple[int, ...]
) -> None:
    state = _Reads()
    state.put(OUTER, nonce=1, code=_load(KEYS[2]), storage={KEYS[0]: 7, KEYS[2]: 9})
    env = env_of_phase("berlin", features)
    NATIVE.call(env, CallMessage(SENDERS[0], OUTER, 100_000, 0, 0, b""), state)
    assert set(state.slots) == set(expected)
