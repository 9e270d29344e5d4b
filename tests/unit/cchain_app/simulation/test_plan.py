"""The blocks of a simulation, and the reasons to reject it before execution."""

import pytest

from cchain_app.evm.overrides import BlockOverride
from cchain_app.simulation.plan import BlockRequest, SimulationReason, SimulationRefused, plan
from cchain_app.txs.request import CallRequest
from tests.builders.accepted import accepted
from tests.builders.reasons import raises

BASE = accepted(88, timestamp=1_000)


def request(**override: int) -> BlockRequest:
    return BlockRequest(override=BlockOverride(**override))


def places(*requests: BlockRequest) -> list[tuple[int, int]]:
    return [(item.number, item.timestamp) for item in plan(BASE, requests)]


def test_simulated_blocks_are_twelve_seconds_apart() -> None:
    assert places(request(), request()) == [(89, 1_012), (90, 1_024)]


def test_block_numbers_and_times_can_be_overridden() -> None:
    assert places(request(number=89, time=1_001), request()) == [(89, 1_001), (90, 1_013)]


def test_a_gap_is_filled_with_empty_blocks() -> None:
    asked = BlockRequest(calls=(CallRequest(),), override=BlockOverride(number=91, time=2_000))
    planned = plan(BASE, [asked])
    assert [(other.number, other.timestamp) for other in planned] == [
        (89, 1_012), (90, 1_024), (91, 2_000),
    ]  # fmt: skip
    assert [len(item.request.calls) for item in planned] == [0, 0, 1]


def test_a_time_must_be_later_than_those_of_the_gap_before_it() -> None:
    with raises(
        SimulationReason.TIMESTAMP_NOT_ASCENDING,
        kind=SimulationRefused,
        match=r"^block timestamps must be in order: 1024 <= 1024$",
    ):
        plan(BASE, [request(number=91, time=1_024)])


@pytest.mark.parametrize("number", [0, 1, 88])
def test_block_numbers_must_increase(number: int) -> None:
    with raises(
        SimulationReason.NUMBER_NOT_ASCENDING,
        kind=SimulationRefused,
        match=f"^block numbers must be in order: {number} <= 88$",
    ):
        plan(BASE, [request(number=number)])


def test_the_last_block_is_at_most_256_above() -> None:
    assert len(plan(BASE, [request(number=88 + 256)])) == 256
    with raises(
        SimulationReason.TOO_MANY_BLOCKS, kind=SimulationRefused, match=r"^too many blocks$"
    ):
        plan(BASE, [request(number=88 + 257)])
    with raises(SimulationReason.TOO_MANY_BLOCKS, kind=SimulationRefused):
        plan(BASE, [request()] * 257)


def test_nothing_is_not_simulated() -> None:
    with raises(SimulationReason.NO_BLOCKS, kind=SimulationRefused, match=r"^empty input$"):
        plan(BASE, [])


def test_calls_are_counted_by_block_and_together() -> None:
    full = BlockRequest(calls=(CallRequest(),) * 5_000)
    assert len(plan(BASE, [full, full])) == 2
    with raises(
        SimulationReason.TOO_MANY_CALLS,
        kind=SimulationRefused,
        match=r"^too many calls in block: 5001 > 5000$",
    ):
        plan(BASE, [BlockRequest(calls=(CallRequest(),) * 5_001)])
    with raises(
        SimulationReason.TOO_MANY_CALLS,
        kind=SimulationRefused,
        match=r"^too many calls: 10001 > 10000$",
    ):
        plan(BASE, [full, full, BlockRequest(calls=(CallRequest(),))])


def test_block_time_above_64_bits_is_refused() -> None:
    with raises(SimulationReason.TIMESTAMP_TOO_HIGH, kind=SimulationRefused):
        plan(BASE, [request(time=2**64 - 1), request()])
