"""Observed connections become uptimes, across clock changes and restarts, and determine rewards."""

from collections.abc import Iterable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chaindb import clock
from nodeproject.apps import this_node
from platform_app import models
from platform_app.apps import platform_chain, platform_runtime
from platform_app.blocks.block import BanffAbortBlock, BanffCommitBlock, parse_block
from platform_app.config import DAY
from platform_app.models import Outcome
from platform_app.selectors import accepted, stakers
from platform_app.services import uptime
from platform_app.services.time_travel import time_travel
from platform_app.store import uptime as rows
from platform_app.store.uptime import Uptime
from primitives.ids import NodeID
from tests.integration.platform_app.conftest import PChain, Rpc, asking
from tests.integration.platform_app.made import (
    delegator,
    node,
    scheduled_validator,
    staker_of,
    validator,
)
from tests.searching import cases

PEER, OTHER = node("peer"), node("other")


def seen(node_id: NodeID) -> Uptime:
    return stakers.uptimes(platform_chain(), [node_id])[node_id]


def online(pchain: PChain, node_id: NodeID = PEER) -> int:
    """Return the seconds for which a validator has been online so far."""
    return seen(node_id).up_until(pchain.now, tracking=uptime.tracking(platform_chain()))


@pytest.fixture
def tracked(pchain: PChain) -> PChain:
    """A chain whose node has had a non-validating peer since the beginning."""
    uptime.observe(platform_chain(), [OTHER], pchain.now)
    return pchain


@pytest.fixture
def travelling(tracked: PChain, monkeypatch: pytest.MonkeyPatch) -> PChain:
    """The same, plus the clock offset that a time travel leaves."""
    monkeypatch.setattr(clock, "now", lambda: tracked.now + clock.offset())
    return tracked


def test_uptime_tracking_starts_with_the_first_peer(pchain: PChain) -> None:
    pchain.do(validator(pchain, "peer", end=30 * DAY))
    began = staker_of_node(PEER).start_time
    uptime.begin(platform_chain(), pchain.now)
    uptime.observe(platform_chain(), [], pchain.now)
    uptime.observe(platform_chain(), [pchain.node_id], pchain.now)
    assert not uptime.tracking(platform_chain())
    assert not models.ConnectedNode.objects.exists()

    pchain.now = began + 500
    uptime.observe(platform_chain(), [OTHER], pchain.now)

    assert uptime.tracking(platform_chain())
    assert rows.tracking(platform_chain().db) == (pchain.now, pchain.now)
    pchain.now = began + 1000
    # For half of the time uptimes were not tracked; then the node was offline.
    assert online(pchain) == 500
    assert seen(pchain.node_id).fraction(pchain.now) == 1.0


def test_uptime_is_counted_between_observations(tracked: PChain) -> None:
    tracked.do(validator(tracked, "peer", end=30 * DAY))
    start = tracked.now
    for second, connected in ((10, [PEER]), (20, [PEER]), (35, []), (40, []), (47, [PEER, OTHER])):
        uptime.observe(platform_chain(), connected, start + second)
    tracked.now = start + 50

    assert online(tracked) == (35 - 10) + (50 - 47)
    assert set(rows.connected(platform_chain().db)) == {tracked.node_id, PEER, OTHER}


def test_validator_connected_at_its_start_is_tracked(tracked: PChain) -> None:
    uptime.observe(platform_chain(), [PEER], tracked.now)
    tracked.do(scheduled_validator(tracked, "peer", start=600, end=10 * DAY))
    tracked.wait(700)
    tracked.now = staker_of_node(PEER).start_time + 400

    assert online(tracked) == 400
    assert seen(PEER).fraction(tracked.now) == 1.0
    uptime.observe(platform_chain(), [PEER], tracked.now)
    assert online(tracked) == 400


def test_looking_again_writes_nothing_until_a_minute_is_over(tracked: PChain) -> None:
    tracked.do(validator(tracked, "peer", end=30 * DAY))
    start = tracked.now
    uptime.observe(platform_chain(), [PEER], start)
    row = staker_of_node(PEER).uptime
    settled_at = models.UptimeTracking.objects.get().settled_at

    with CaptureQueriesContext(connection) as asked:
        uptime.observe(platform_chain(), [PEER], settled_at + uptime.CHECKPOINT - 1)
    assert len(asked) == 2
    row.refresh_from_db()
    assert (row.up_duration, row.last_updated) == (0, start)

    uptime.observe(platform_chain(), [PEER], settled_at + uptime.CHECKPOINT)

    row.refresh_from_db()
    assert row.last_updated == settled_at + uptime.CHECKPOINT
    assert row.up_duration == row.last_updated - start


def test_a_killed_node_counts_the_gap_as_online_but_no_more(tracked: PChain) -> None:
    tracked.do(validator(tracked, "peer", end=30 * DAY))
    start = tracked.now
    uptime.observe(platform_chain(), [PEER], start)
    uptime.observe(platform_chain(), [], start + 100)
    uptime.observe(platform_chain(), [], start + 400)  # a checkpoint before the process is killed
    uptime.begin(platform_chain(), start + 1000)
    tracked.now = start + 1100

    assert online(tracked) == 100 + 600
    assert seen(PEER).fraction(tracked.now) == 700 / 1100
    assert set(rows.connected(platform_chain().db)) == {tracked.node_id}
    uptime.begin(platform_chain(), tracked.now)
    uptime.begin(platform_chain(), tracked.now)
    assert online(tracked) == 100 + 600 + 100


def test_killed_node_restarts_uptime_counting(tracked: PChain) -> None:
    tracked.do(validator(tracked, "peer", end=30 * DAY))
    start = tracked.now
    uptime.observe(platform_chain(), [PEER], start)
    uptime.begin(platform_chain(), start + 500)  # killed and restarted
    tracked.now = start + 800

    assert online(tracked) == 500
    uptime.observe(platform_chain(), [PEER], start + 700)
    assert online(tracked) == 500 + 100


def test_clock_jump_counts_as_connected(
    travelling: PChain,
) -> None:
    first = travelling.do(validator(travelling, "peer", end=100 * DAY))
    second = travelling.do(validator(travelling, "other", end=100 * DAY))
    uptime.observe(platform_chain(), [PEER], clock.now())

    time_travel(platform_runtime(), 30 * DAY)

    now = clock.now()
    assert seen(PEER).fraction(now) > 0.999999
    assert seen(OTHER).fraction(now) < 0.000001
    uptime.observe(platform_chain(), [OTHER], now)
    time_travel(platform_runtime(), 30 * DAY)
    assert round(seen(PEER).fraction(clock.now()), 4) == 0.5
    assert round(seen(OTHER).fraction(clock.now()), 4) == 0.5
    assert {staker_of(tx).outcome for tx in (first, second)} == {None}


@pytest.mark.parametrize(
    ("hundredths", "option", "outcome"),
    [(80, BanffCommitBlock, Outcome.REWARDED), (79, BanffAbortBlock, Outcome.UNREWARDED)],
)
def test_a_reward_takes_four_fifths_of_observed_time(
    travelling: PChain, hundredths: int, option: type, outcome: Outcome
) -> None:
    tx = travelling.do(validator(travelling, "peer", end=30 * DAY + 1))
    row = staker_of(tx)
    stay = row.end_time - row.start_time
    uptime.observe(platform_chain(), [PEER], clock.now())

    time_travel(platform_runtime(), row.start_time + stay * hundredths // 100 - clock.now())
    uptime.observe(platform_chain(), [], clock.now())
    time_travel(platform_runtime(), 10 * DAY)

    block = accepted.block_at(platform_chain(), platform_chain().tip().height)
    assert block is not None
    assert type(parse_block(block.raw)) is option
    row.refresh_from_db()
    assert row.outcome == outcome
    assert row.uptime.up_duration == stay * hundredths // 100
    assert row.uptime.last_updated == row.end_time


def test_uptime_in_parts_adds_up_to_the_requirement(travelling: PChain) -> None:
    tx = travelling.do(validator(travelling, "peer", end=20 * DAY + 1))
    for connected in ([PEER], [], [PEER], [PEER], [PEER]):
        uptime.observe(platform_chain(), connected, clock.now())
        time_travel(platform_runtime(), 4 * DAY)

    assert staker_of(tx).outcome == Outcome.REWARDED
    assert staker_of(tx).uptime.up_duration == 16 * DAY


def test_a_delegator_is_rewarded_by_its_validators_uptime(travelling: PChain) -> None:
    travelling.do(validator(travelling, "peer", end=50 * DAY))
    first = travelling.do(delegator(travelling, "peer", end=10 * DAY))
    second = travelling.do(delegator(travelling, "peer", end=40 * DAY))
    uptime.observe(platform_chain(), [PEER], clock.now())
    time_travel(platform_runtime(), 12 * DAY)
    uptime.observe(platform_chain(), [], clock.now())
    time_travel(platform_runtime(), 30 * DAY)

    assert staker_of(first).outcome == Outcome.REWARDED
    assert staker_of(second).outcome == Outcome.UNREWARDED


def test_validators_are_rewarded_without_any_tracking(pchain: PChain) -> None:
    tx = pchain.do(validator(pchain, "peer", end=30 * DAY))
    uptime.begin(platform_chain(), pchain.now)
    uptime.observe(platform_chain(), [], pchain.now)

    pchain.wait(40 * DAY)

    assert staker_of(tx).outcome == Outcome.REWARDED


def test_validator_api_shows_observed_uptime(tracked: PChain, rpc: Rpc) -> None:
    tracked.do(validator(tracked, "peer", end=30 * DAY))
    tracked.do(scheduled_validator(tracked, "other", start=5 * DAY, end=30 * DAY))
    start = staker_of_node(PEER).start_time

    def shown(node_id: NodeID) -> Any:
        (found,) = rpc("platform.getCurrentValidators", nodeIDs=[str(node_id)])["validators"]
        return found["uptime"], found["connected"]

    assert shown(PEER)[1] is False
    assert shown(tracked.node_id) == ("1.0000", True)
    uptime.observe(platform_chain(), [PEER, OTHER], start + 500)
    tracked.now = start + 1000
    assert shown(PEER) == ("0.5000", True)
    (pending,) = rpc("platform.getPendingValidators")["validators"]
    assert pending["connected"] is True

    uptime.observe(platform_chain(), [], start + 1000)
    tracked.now = start + 2000

    assert shown(PEER) == ("0.2500", False)
    assert shown(tracked.node_id) == ("1.0000", True)
    (pending,) = rpc("platform.getPendingValidators")["validators"]
    assert pending["connected"] is False


def test_with_the_reference_s_parameters_uptime_is_a_percentage(reference_pchain: PChain) -> None:
    ask = asking(this_node().endpoints.platform.dispatcher)
    (first, *_) = stakers.current_validators(platform_chain()).validators
    uptime.observe(platform_chain(), [OTHER], first.start)
    uptime.observe(platform_chain(), [first.node_id], first.start + 477)
    reference_pchain.now = first.start + 10_000

    (shown,) = ask("platform.getCurrentValidators", nodeIDs=[str(first.node_id)])["validators"]
    assert (shown["uptime"], shown["connected"]) == ("95.2300", True)


def staker_of_node(node_id: NodeID) -> models.Staker:
    return models.Staker.objects.get(node_id=node_id)


NODES = (PEER, OTHER)
LEAPS = st.sampled_from((0, 1, 7, 59, 60, 61, 600, DAY, 9 * DAY))
LOOKS = st.one_of(st.none(), st.sets(st.sampled_from(NODES)))


@settings(
    max_examples=cases(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(st.tuples(LEAPS, LOOKS), max_size=25))
def test_no_history_of_looks_and_restarts_counts_more_than_there_was(
    two_validators: tuple[int, int], steps: list[tuple[int, set[NodeID] | None]]
) -> None:
    """A step is a clock change, followed by an observation of connected nodes or by a restart."""
    start, end = two_validators
    _forget_all(start)
    now, before = start, dict.fromkeys(NODES, 0)
    for leap, connected in steps:
        now += leap
        if connected is None:
            uptime.begin(platform_chain(), now)
        else:
            uptime.observe(platform_chain(), connected, now)
        for item in stakers.uptimes(platform_chain(), NODES).values():
            until = item.up_until(now, tracking=uptime.tracking(platform_chain()))
            assert 0.0 <= item.fraction(now, tracking=uptime.tracking(platform_chain())) <= 1.0
            assert before[item.node_id] <= until <= min(now, end) - start
            assert item.up_duration <= item.last_updated - start
            before[item.node_id] = until


@pytest.fixture
def two_validators(pchain: PChain) -> tuple[int, int]:
    """Two validators that start and end together."""
    for name in ("peer", "other"):
        pchain.issue(validator(pchain, name, end=30 * DAY))
    pchain.build()
    (first, second) = (staker_of_node(item) for item in NODES)
    assert (first.start_time, first.end_time) == (second.start_time, second.end_time)
    return first.start_time, first.end_time


def _forget_all(start: int) -> None:
    models.UptimeTracking.objects.all().delete()
    models.ConnectedNode.objects.all().delete()
    _of(NODES).update(up_duration=0, last_updated=start)


def _of(nodes: Iterable[NodeID]) -> Any:
    return models.ValidatorUptime.objects.filter(staker__node_id__in=list(nodes))
