"""Gas state (ACP-176) and minimum delay (ACP-226) against the reference's results."""

from typing import Any

import pytest

from cchain_app.rules.coreth import min_delay
from cchain_app.rules.coreth.gas_state import (
    GasState,
    GasStateError,
    desired_target_excess,
    price,
)
from tests.conformance.coreth_vectors import cases, data


def _state(expected: dict[str, Any]) -> GasState:
    state = GasState.read(data(expected["bytes"]))
    assert state == (
        int(expected["capacity"]),
        int(expected["excess"]),
        int(expected["targetExcess"]),
    )
    assert state.raw == data(expected["bytes"])
    assert (state.target, state.max_capacity, state.gas_price) == (
        int(expected["target"]),
        int(expected["maxCapacity"]),
        int(expected["gasPrice"]),
    )
    return state


@pytest.mark.parametrize("case", cases("fee_state", op="price"))
def test_price_of_an_excess(case: dict[str, Any]) -> None:
    assert price(int(case["min"]), int(case["excess"]), int(case["k"])) == int(case["result"])


@pytest.mark.parametrize("case", cases("fee_state", op="read"))
def test_values_derived_from_a_state(case: dict[str, Any]) -> None:
    _state(case["state"])


@pytest.mark.parametrize("case", cases("fee_state", op="advanceMilliseconds"))
def test_state_after_milliseconds(case: dict[str, Any]) -> None:
    found = _state(case["before"]).advanced_milliseconds(int(case["by"]))
    assert found == _state(case["after"])


@pytest.mark.parametrize("case", cases("fee_state", op="advanceSeconds"))
def test_state_after_seconds(case: dict[str, Any]) -> None:
    found = _state(case["before"]).advanced_seconds(int(case["by"]))
    assert found == _state(case["after"])


@pytest.mark.parametrize("case", cases("fee_state", op="consume"))
def test_state_after_gas_was_used(case: dict[str, Any]) -> None:
    before = _state(case["before"])
    used = [int(case[key]) for key in ("gasUsed", "extraGasUsed") if case[key] is not None]

    def consumed() -> GasState:
        state = before
        for gas in used:
            state = state.consumed(gas)
        return state

    if case["error"] is None:
        assert consumed() == _state(case["after"])
    else:
        with pytest.raises(GasStateError) as caught:
            consumed()
        assert str(caught.value) == case["error"]


@pytest.mark.parametrize("case", cases("fee_state", op="updateTargetExcess"))
def test_state_after_a_vote(case: dict[str, Any]) -> None:
    assert _state(case["before"]).voted(int(case["desired"])) == _state(case["after"])


@pytest.mark.parametrize("case", cases("fee_state", op="desiredTargetExcess"))
def test_vote_for_a_target(case: dict[str, Any]) -> None:
    assert desired_target_excess(int(case["target"])) == int(case["result"])


@pytest.mark.parametrize("case", cases("fee_state", op="parse"))
def test_state_of_bytes(case: dict[str, Any]) -> None:
    if case["error"] is None:
        assert GasState.read(data(case["bytes"])) == _state(case["state"])
    else:
        with pytest.raises(GasStateError) as caught:
            GasState.read(data(case["bytes"]))
        assert str(caught.value) == case["error"]


@pytest.mark.parametrize("case", cases("min_delay", op="delay"))
def test_delay_of_an_excess(case: dict[str, Any]) -> None:
    assert min_delay.delay_of(int(case["excess"])) == int(case["milliseconds"])


@pytest.mark.parametrize("case", cases("min_delay", op="update"))
def test_excess_after_a_vote(case: dict[str, Any]) -> None:
    found = min_delay.excess_after(int(case["excess"]), int(case["desired"]))
    assert found == int(case["result"])


@pytest.mark.parametrize("case", cases("min_delay", op="desired"))
def test_vote_for_a_delay(case: dict[str, Any]) -> None:
    assert min_delay.desired_excess(int(case["milliseconds"])) == int(case["result"])
