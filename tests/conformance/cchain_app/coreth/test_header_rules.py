"""Gas limit, base fee, gas state and delay of blocks of Granite against the reference's results."""

from typing import Any

import pytest

from cchain_app.blocks.errors import BlockRefused
from cchain_app.rules.coreth.header import CorethHeader
from cchain_app.rules.coreth.min_delay import FIRST_EXCESS, excess_after
from cchain_app.rules.coreth.verification import gas_state_before, verify_claimed_gas
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


def _parent(case: dict[str, Any]) -> CorethHeader:
    return header_of(case["parent"])


def _is_in_order(case: dict[str, Any]) -> bool:
    parent = _parent(case)
    return bool(case["childTimeMilliseconds"] >= parent.milliseconds)


_CASES = [case for case in cases("header_rules", phase="granite") if _is_in_order(case.values[0])]
"""Blocks before their parents, which `verify_time` refuses before anything is computed, are left out."""


@pytest.mark.parametrize("case", _CASES)
def test_values_of_a_block(case: dict[str, Any]) -> None:
    parent = _parent(case)
    before = gas_state_before(parent, int(case["childTimeMilliseconds"]), UPGRADES)
    assert before.max_capacity == case["gasLimit"]
    assert before.gas_price == int(case["baseFee"])
    assert before.capacity == case["gasCapacity"]
    used, extra = case["childGasUsed"], int(case["childExtDataGasUsed"] or 0)
    assert max(before.capacity - used, 0) == case["remainingAtomicGas"]
    if case["extraPrefixError"] is None:
        after = before.consumed(used).consumed(extra)
        wanted = case.get("desiredTargetExcess")
        after = after.voted(after.target_excess if wanted is None else int(wanted))
        assert after.raw == data(case["extraPrefix"])
    delay = FIRST_EXCESS if parent.min_delay_excess is None else parent.min_delay_excess
    wanted = case.get("desiredMinDelayExcess")
    if wanted is not None:
        delay = excess_after(delay, int(wanted))
    assert delay == int(case["minDelayExcess"])


@pytest.mark.parametrize("case", _CASES)
def test_claimed_gas(case: dict[str, Any]) -> None:
    parent = _parent(case)
    before = gas_state_before(parent, int(case["childTimeMilliseconds"]), UPGRADES)
    child = header_of(
        {
            **case["parent"],
            "gasUsed": case["childGasUsed"],
            "extDataGasUsed": case["childExtDataGasUsed"] or 0,
        }
    )

    def verify() -> None:
        verify_claimed_gas(child, [], before.capacity, lambda _: 0)

    if case["verifyGasUsedError"] is None:
        verify()
        return
    with pytest.raises(BlockRefused) as caught:
        verify()
    assert str(caught.value).endswith(case["verifyGasUsedError"])


def test_vectors_include_cases_of_granite() -> None:
    assert len(_CASES) > 40
