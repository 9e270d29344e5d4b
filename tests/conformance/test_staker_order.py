"""The total order of stakers against the reference implementation's (pchain.md 5.4)."""

from typing import Any

import pytest

from platform_app.state.stakers import Priority, Staker
from primitives.ids import EMPTY_NODE_ID, ID, PRIMARY_NETWORK_ID
from tests.conformance.pchain_vectors import cases


def read(case: dict[str, Any]) -> Staker:
    """Return a staker whose next change, start or end, is at the given time."""
    priority = Priority(case["priority"])
    other = case["nextTime"] + 1 if priority.is_pending else 0
    start, end = (case["nextTime"], other) if priority.is_pending else (other, case["nextTime"])
    return Staker(
        tx_id=ID(bytes.fromhex(case["txIDHex"])),
        node_id=EMPTY_NODE_ID,
        subnet_id=PRIMARY_NETWORK_ID,
        weight=1,
        start=start,
        end=end,
        potential_reward=0,
        priority=priority,
    )


@pytest.mark.parametrize("case", cases("staker_order", left=...))
def test_stakers_are_ordered_as_by_the_reference(case: dict[str, Any]) -> None:
    assert (read(case["left"]).order < read(case["right"]).order) == case["less"]


@pytest.mark.parametrize("case", cases("staker_order", unsorted=...))
def test_stakers_are_sorted_like_the_reference(case: dict[str, Any]) -> None:
    shuffled = [read(item) for item in case["unsorted"]]

    assert sorted(shuffled, key=lambda staker: staker.order) == [
        read(other) for other in case["sorted"]
    ]
