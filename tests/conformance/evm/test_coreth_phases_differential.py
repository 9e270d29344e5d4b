"""Both engines on the same blocks of coreth's phases before Granite, whose rules differ from those of one another."""

from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cchain_app.evm.coreth import (
    DELEGATED,
    FORBIDDEN,
    P256_VERIFY,
    AssetContracts,
    CorethFeatures,
    DelegatedCalls,
)
from cchain_app.evm.engine import BlockEnv
from cchain_app.precompiles.active import DURANGO_WARP_GAS, StatefulPrecompiles, WarpRules
from cchain_app.precompiles.addresses import WARP
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address, Word
from tests.builders.bytecode import assemble
from tests.builders.cchain import MemoryState
from tests.conformance.evm.test_coreth_differential import (
    INNER,
    NATIVE,
    OPCODES,
    OUTER,
    REFERENCE,
    call_code,
    env_of_phase,
    sent_in,
    worlds,
)
from tests.searching import cases

_WARP: Final = StatefulPrecompiles(warp=WarpRules(12345, b"\x07" * 32, DURANGO_WARP_GAS))
_GET_BLOCKCHAIN_ID: Final = 0x4213CF78
_NONE, _REVERTING = AssetContracts.NONE, AssetContracts.REVERTING
_RUN, _INVALID = DelegatedCalls.RUN, DelegatedCalls.INVALID
_PHASES: Final = {
    "launch": ("istanbul", CorethFeatures(True, _NONE, False, _RUN), None),
    "Apricot 1": ("istanbul", CorethFeatures(False, _NONE, False, _RUN), None),
    "Apricot Pre-6": ("london", CorethFeatures(False, _REVERTING, False, _RUN), None),
    "Banff": ("london", CorethFeatures(False, _REVERTING, False, _RUN), None),
    "Durango": ("shanghai", CorethFeatures(False, _REVERTING, False, _RUN), _WARP),
    "Etna": ("cancun", CorethFeatures(False, _REVERTING, False, _RUN), _WARP),
    "Etna since August 2025": (
        "cancun",
        CorethFeatures(False, _REVERTING, False, _INVALID),
        _WARP,
    ),
}
"""The forks of Ethereum and the features. `test_coreth_assets_differential` has the phases between."""


def _env(phase: str) -> BlockEnv:
    fork, features, stateful = _PHASES[phase]
    env = env_of_phase(fork, features)
    return env if stateful is None else replace(env, stateful=stateful)


def _outcomes(phase: str, transactions: list[Transaction], state: MemoryState) -> Any:
    return (
        engine.execute_block(_env(phase), transactions, state, skip_invalid=True)
        for engine in (NATIVE, REFERENCE)
    )


@pytest.mark.parametrize("phase", _PHASES)
@given(
    state=worlds(),
    gas=st.sampled_from([60_000, 400_000]),
    targets=st.lists(
        st.sampled_from([OUTER, OUTER, INNER, *FORBIDDEN, P256_VERIFY]), min_size=1, max_size=3
    ),
    value=st.integers(0, 1),
)
@settings(max_examples=cases(20), deadline=None)
def test_blocks_of_a_phase_agree(
    phase: str, state: MemoryState, gas: int, targets: list[Address], value: int
) -> None:
    env = _env(phase)
    transactions = [
        sent_in(env, to, place, gas=gas, value=value if place else 0)
        for place, to in enumerate(targets)
    ]
    found, expected = _outcomes(phase, transactions, state)
    assert found.skipped == expected.skipped
    assert found.results == expected.results
    assert dict(found.changes.accounts) == dict(expected.changes.accounts)
    assert dict(found.changes.storage) == dict(expected.changes.storage)


@pytest.mark.parametrize("opcode", ["DELEGATECALL", "CALLCODE"])
def test_delegated_calls_of_warp_ran_before_august_2025(opcode: str) -> None:
    state = MemoryState()
    sent = sent_in(_env("Etna"), OUTER, 0, gas=400_000, value=0)
    state.put(sent.sender, balance=10**21)
    value = "0 " if opcode == "CALLCODE" else ""
    ask = assemble(
        f"{_GET_BLOCKCHAIN_ID << 224} 0 MSTORE 32 32 4 0 {value}{int.from_bytes(WARP, 'big')} 9000"
    )
    code = ask + OPCODES[opcode] + assemble("8 SSTORE 32 MLOAD 10 SSTORE")
    state.put(OUTER, nonce=1, code=code)
    for outcome in _outcomes("Etna", [sent], state):
        written = {
            int.from_bytes(slot, "big"): change.after
            for (_, slot), change in outcome.changes.storage.items()
        }
        assert written == {8: Word(bytes(31) + b"\x01"), 10: Word(b"\x07" * 32)}


@pytest.mark.parametrize("called", [*FORBIDDEN, WARP])
@pytest.mark.parametrize("opcode", ["DELEGATECALL", "CALLCODE"])
def test_delegated_calls_since_august_2025_leave_no_trace(called: Address, opcode: str) -> None:
    state = MemoryState()
    refused = sent_in(_env("Etna"), OUTER, 0, gas=400_000, value=0)
    state.put(refused.sender, balance=10**21)
    state.put(OUTER, nonce=1, code=assemble("7 2 SSTORE") + call_code(opcode, called, 60_000))
    state.put(INNER, nonce=1, code=assemble("9 2 SSTORE"))
    other = sent_in(_env("Etna"), INNER, 0, gas=400_000, value=0)
    for outcome in _outcomes("Etna since August 2025", [refused, other], state):
        (skipped,) = outcome.skipped
        assert (skipped.index, DELEGATED in skipped.reason) == (0, True)
        assert outcome.included == (1,)
        assert {address for address, _ in outcome.changes.storage} == {INNER}
        assert OUTER not in outcome.changes.accounts
    for outcome in _outcomes("Etna", [refused], state):
        assert outcome.included == (0,)
