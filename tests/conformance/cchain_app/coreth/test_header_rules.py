"""Gas limit, base fee, block cost, window or gas state and delay of blocks of every phase against the reference's results."""

from typing import Any

import pytest

from cchain_app.atomic.fees import MAX_BLOCK_GAS
from cchain_app.blocks.errors import BlockRefused
from cchain_app.rules.coreth.header import CorethHeader
from cchain_app.rules.coreth.min_delay import excess_after
from cchain_app.rules.coreth.phases import CorethPhase, phase_at
from cchain_app.rules.coreth.verification import (
    HeaderFees,
    delay_excess_before,
    fees_after,
    verify_claimed_gas,
)
from primitives.upgrades import UpgradeTimes
from tests.conformance.coreth_vectors import cases, data, header_of

_FIRST = 1_607_144_400
_PHASES = (
    "apricot_phase1", "apricot_phase2", "apricot_phase3", "apricot_phase4", "apricot_phase5",
    "apricot_phase_pre6", "apricot_phase6", "apricot_phase_post6", "banff", "cortina", "durango",
    "etna", "fortuna", "granite",
)  # fmt: skip
UPGRADES = UpgradeTimes(
    **{name: _FIRST + 1_000 * place for place, name in enumerate(_PHASES, 1)}  # type: ignore[arg-type]
)
"""The upgrades of the cases: one every thousand seconds."""
_NAMES = (
    "launch", "apricotPhase1", "apricotPhase2", "apricotPhase3", "apricotPhase4", "apricotPhase5",
    "apricotPhasePre6", "apricotPhase6", "apricotPhasePost6", "banff", "cortina", "durango",
    "etna", "fortuna", "granite",
)  # fmt: skip


def _parent(case: dict[str, Any]) -> CorethHeader:
    return header_of(case["parent"])


def _is_in_order(case: dict[str, Any]) -> bool:
    return int(case["childTimeMilliseconds"]) >= _parent(case).milliseconds


_CASES = [case for case in cases("header_rules") if _is_in_order(case.values[0])]
"""Blocks before their parents, which `verify_time` refuses before anything is computed, are left out."""


def _fees(case: dict[str, Any]) -> HeaderFees:
    return fees_after(_parent(case), int(case["childTimeMilliseconds"]), UPGRADES)


def _number(value: str | int | None) -> int | None:
    return None if value is None else int(value)


def _prefix_after(case: dict[str, Any], fees: HeaderFees) -> bytes:
    if fees.state is None:
        return fees.prefix
    after = fees.state.consumed(case["childGasUsed"])
    after = after.consumed(int(case.get("childExtDataGasUsed") or 0))
    wanted = case.get("desiredTargetExcess")
    return after.voted(after.target_excess if wanted is None else int(wanted)).raw


@pytest.mark.parametrize("case", _CASES)
def test_values_of_a_block(case: dict[str, Any]) -> None:
    fees = _fees(case)
    assert fees.phase == CorethPhase(_NAMES.index(case["phase"]))
    assert phase_at(UPGRADES, _parent(case).timestamp) == CorethPhase(
        _NAMES.index(case["parentPhase"])
    )
    assert fees.gas_limit == case["gasLimit"]
    assert fees.base_fee == _number(case["baseFee"])
    assert fees.capacity == case["gasCapacity"]
    assert fees.block_gas_cost == _number(case["blockGasCost"])
    if case["remainingAtomicGasError"] is None:
        assert fees.atomic_capacity(case["childGasUsed"]) == case["remainingAtomicGas"]
    if case["extraPrefixError"] is None:
        assert _prefix_after(case, fees) == data(case["extraPrefix"] or "")


@pytest.mark.parametrize("case", _CASES)
def test_delay(case: dict[str, Any]) -> None:
    if CorethPhase(_NAMES.index(case["phase"])) < CorethPhase.GRANITE:
        assert case["minDelayExcess"] is None
        return
    delay = delay_excess_before(_parent(case), UPGRADES)
    wanted = case.get("desiredMinDelayExcess")
    if wanted is not None:
        delay = excess_after(delay, int(wanted))
    assert delay == int(case["minDelayExcess"])


@pytest.mark.parametrize("case", _CASES)
def test_claimed_gas(case: dict[str, Any]) -> None:
    fees = _fees(case)
    child = header_of(
        {
            **case["parent"],
            "gasUsed": case["childGasUsed"],
            "extDataGasUsed": case.get("childExtDataGasUsed") or 0,
        }
    )

    def verify() -> None:
        verify_claimed_gas(child, [], fees, lambda _: 0)

    if case["verifyGasUsedError"] is None:
        verify()
        return
    with pytest.raises(BlockRefused) as caught:
        verify()
    assert str(caught.value).endswith(case["verifyGasUsedError"])


def test_vectors_include_cases_of_all_phases() -> None:
    missing = {"apricotPhase5"}
    """The files have two of three cases."""
    assert {case.values[0]["phase"] for case in _CASES} == set(_NAMES) - missing


def test_atomic_transactions_had_a_capacity_of_their_own() -> None:
    (case,) = (one.values[0] for one in _CASES if one.values[0]["case"] == 7)
    assert _fees(case).atomic_capacity(10**9) == MAX_BLOCK_GAS
