"""Staking time travel: the clock is moved forward, and every staker change in between gets its block."""

import time
from io import StringIO
from itertools import pairwise
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from cchain_app.apps import evm_chain, evm_runtime
from cchain_app.services.genesis import load_genesis as load_cchain
from chaindb import clock
from chaindb.clock import ClockMovesForward
from chaindb.models import Clock
from platform_app import models
from platform_app.apps import platform_chain, platform_runtime
from platform_app.config import DAY
from platform_app.management.commands import time_travel as time_travel_command
from platform_app.management.commands.time_travel import duration
from platform_app.memory.answers import MAX_AGE
from platform_app.models import Outcome, Phase
from platform_app.selectors import accepted, stakers
from platform_app.services.errors import ClockNotMovable, TimeTravelReason
from platform_app.services.time_travel import time_travel
from platform_app.txs.base import Tx, TxStatus
from tests.builders.deciding import deciding
from tests.builders.evm_chains import produce
from tests.builders.node_settings import updated
from tests.builders.platform_replay import assert_replays, remembered
from tests.builders.reasons import raises
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.made import (
    DELEGATION,
    STAKE,
    delegator,
    node,
    payments,
    scheduled_validator,
    split,
    staker_of,
    subnet,
    subnet_validator,
    validator,
)

YEAR = 365 * DAY


@pytest.fixture(autouse=True)
def travelling_clock(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's clock plus the offset that a time travel leaves."""
    monkeypatch.setattr(clock, "now", lambda: pchain.now + clock.offset())


def stakers_of_all_kinds(pchain: PChain, validators: int) -> list[Tx]:
    """Add current and pending validators with delegators; some of them validate a subnet."""
    random = Random(7)
    subnet_id = subnet(pchain)
    split(pchain, validators, STAKE + 10**6)
    split(pchain, 3 * validators, DELEGATION + 10**6)
    txs = []
    for number in range(validators):
        name, end = f"node {number}", random.randint(20, 300) * DAY + random.randint(0, DAY)
        start = random.choice((0, random.randint(1_000, 12 * DAY)))
        if start:
            txs.append(scheduled_validator(pchain, name, start=start, end=end))
        else:
            txs.append(validator(pchain, name, end=end))
    _take(pchain, txs)
    more = []
    for tx in txs:
        period = tx.unsigned.validator  # type: ignore[attr-defined]
        name = next(f"node {n}" for n in range(validators) if node(f"node {n}") == period.node_id)
        first, last = max(period.start - pchain.now, 0), period.end - pchain.now
        for _ in range(2):
            start = first + random.randint(100, DAY)
            end = random.randint(start + DAY, last)
            more.append(delegator(pchain, name, start=start, end=end))
        if len(more) % 3 == 0:
            start = first + random.randint(100, DAY)
            more.append(subnet_validator(pchain, subnet_id, name, start=start, end=last - 50))
    _take(pchain, more)
    return txs + more


def _take(pchain: PChain, txs: list[Tx]) -> None:
    pchain.issue(*txs)
    pchain.build()
    assert models.MempoolTx.objects.count() == 0


def moments(txs: list[Tx]) -> set[int]:
    """Return the times at which stakers of these transactions start or end."""
    rows = [staker_of(tx) for tx in txs]
    begins = {row.start_time for row in rows if row.phase == Phase.PENDING}
    return begins | {row.end_time for row in rows}


def test_every_change_on_the_way_has_a_block_at_its_own_time(pchain: PChain) -> None:
    txs = stakers_of_all_kinds(pchain, 40)
    own_end = stakers.current_validators(platform_chain()).by_node[pchain.node_id].end
    expected = moments(txs) | {own_end}
    height, before = platform_chain().tip().height, remembered()

    built = time_travel(platform_runtime(), YEAR + DAY)

    blocks = assert_replays(before, height, lambda _block: clock.now())
    assert {block.time for block in blocks} == expected
    proposals = sum(block.proposal is not None for block in blocks)
    assert len(blocks) == built + proposals
    # All stakers except the subnet's validators were proposed for a reward, one after the other.
    assert proposals == sum(1 for tx in txs if hasattr(tx.unsigned, "stake")) + 1
    rows = [staker_of(tx) for tx in txs]
    assert {row.phase for row in rows} == {Phase.PAST}
    assert {row.outcome for row in rows} == {Outcome.REWARDED, Outcome.ENDED}
    assert all(row.left_time == row.end_time for row in rows)


def test_the_clock_is_ahead_for_good(pchain: PChain) -> None:
    before = clock.now()

    assert time_travel(platform_runtime(), 30 * DAY) == 0

    assert clock.now() == before + 30 * DAY
    assert clock.offset() == 30 * DAY
    assert platform_chain().tip().height == 0  # no staker changed in between


def test_journeys_add_up(pchain: PChain) -> None:
    time_travel(platform_runtime(), DAY)
    time_travel(platform_runtime(), 2 * DAY)

    assert clock.offset() == 3 * DAY


def test_the_own_validator_is_there_at_every_moment_of_ten_years(pchain: PChain) -> None:
    time_travel(platform_runtime(), 10 * YEAR)

    stays = list(models.Staker.objects.filter(node_id=pchain.node_id).order_by("position"))
    assert len(stays) == 11
    for stay, after in pairwise(stays):
        assert after.start_time == stay.end_time
        assert after.joined_height == stay.left_height + 1
    assert stays[-1].end_time > clock.now()


def test_progress_is_reported_after_each_step(pchain: PChain) -> None:
    split(pchain, 3, 2 * STAKE)
    txs = [
        scheduled_validator(pchain, f"node {number}", start=100 * (number + 1), end=5 * DAY)
        for number in range(3)
    ]
    _take(pchain, txs)
    seen: list[int] = []

    built = time_travel(platform_runtime(), DAY, seen.append)

    assert built == 3
    assert seen == sorted(staker_of(tx).start_time for tx in txs)


def test_pending_transaction_is_in_the_first_block(pchain: PChain) -> None:
    tx = pchain.make()
    pchain.issue(tx)

    time_travel(platform_runtime(), DAY)

    assert accepted.status(platform_chain(), tx.tx_id).status is TxStatus.COMMITTED


def test_time_travel_ends_despite_new_transactions(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    txs = iter(payments(pchain, 30))
    split(pchain, 1, 2 * STAKE)
    staker = pchain.do(scheduled_validator(pchain, "node", start=600, end=2 * DAY))
    consensus = platform_runtime().consensus
    produce = consensus.produce

    def produce_and_issue(*, now: int) -> Any:
        pchain.issue(next(txs))  # other users issue transactions
        return produce(now=now)

    monkeypatch.setattr(consensus, "produce", produce_and_issue)
    built = time_travel(platform_runtime(), 3 * DAY)

    # One block where it starts, one where it ends, and one with the pending transactions on arrival.
    assert built == 3
    assert staker_of(staker).outcome == Outcome.REWARDED


def test_staker_that_ends_at_the_target_time_is_rewarded(pchain: PChain) -> None:
    first = pchain.do(validator(pchain, "node", end=2 * DAY))
    end = staker_of(first).end_time
    second = pchain.do(validator(pchain, "another", end=end - pchain.now))
    pchain.issue(pchain.make())

    time_travel(platform_runtime(), end - clock.now())

    assert {staker_of(tx).outcome for tx in (first, second)} == {Outcome.REWARDED}


def test_a_journey_that_broke_off_is_ended_by_the_nodes_own_builder(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    split(pchain, 3, 2 * STAKE)
    txs = [
        scheduled_validator(pchain, f"node {number}", start=100 * (number + 1), end=5 * DAY)
        for number in range(3)
    ]
    _take(pchain, txs)

    def stop(_time: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        time_travel(platform_runtime(), DAY, stop)
    assert clock.offset() == DAY
    assert [staker_of(tx).phase for tx in txs].count(Phase.CURRENT) == 1

    while platform_runtime().consensus.produce(now=clock.now()) is not None:
        pass

    rows = [staker_of(tx) for tx in txs]
    assert {row.phase for row in rows} == {Phase.CURRENT}
    assert len({row.joined_height for row in rows}) == 3


@pytest.mark.parametrize("network_id", [1, 5])
def test_the_clock_of_a_public_network_is_not_moved(
    pchain: PChain, settings: Any, network_id: int
) -> None:
    settings.NODE = updated(settings.NODE, network_id=network_id)

    with pytest.raises(ClockNotMovable) as refused:
        time_travel(platform_runtime(), DAY)

    assert str(refused.value) == (
        f"only the clock of a local network can be moved, not that of network {network_id}"
    )
    assert refused.value.values["network_id"] == network_id
    assert not Clock.objects.exists()


def test_time_travel_backwards_is_refused(pchain: PChain) -> None:
    with pytest.raises(ClockMovesForward):
        time_travel(platform_runtime(), -1)


def test_the_c_chain_sees_the_moved_clock(pchain: PChain) -> None:
    first = load_cchain(evm_chain())

    time_travel(platform_runtime(), 30 * DAY)

    block = produce(evm_runtime(), now=clock.now(), allow_empty=True)
    assert block is not None
    assert block.header.timestamp == clock.now()
    assert block.header.timestamp >= first.header.timestamp + 30 * DAY


def test_time_travel_command_reports_time_and_blocks(pchain: PChain) -> None:
    pchain.do(validator(pchain, "node", end=2 * DAY))
    out = StringIO()

    call_command("time_travel", "30d", stdout=out)

    moment = "2023-12-14 22:13:21"  # its end was proposed and committed during the travel
    assert out.getvalue().startswith(f"It is {moment} UTC now. 2 blocks, ")


def test_command_waits_until_caches_have_expired(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = clock.now()
    waited: list[tuple[float, bool]] = []

    def wait(seconds: float) -> None:
        waited.append((seconds, clock.now() >= before + DAY))

    # The rows have changed when the wait begins; other processes' cached responses are valid for that long.
    waits = SimpleNamespace(monotonic=time.monotonic, sleep=wait)
    monkeypatch.setattr(time_travel_command, "time", waits)

    call_command("time_travel", "1d", stdout=StringIO())

    assert waited == [(MAX_AGE, True)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("15m", 900), ("12h", 43_200), ("30d", 30 * DAY), ("2w", 14 * DAY),
     ("1y", YEAR), ("100y", 100 * YEAR)],
)  # fmt: skip
def test_durations_are_read_with_their_units(text: str, seconds: int) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-1d", "'-1d' is not a duration; write 90s, 15m, 12h, 30d, 2w or 1y"),
        ("1.5d", "'1.5d' is not a duration; write 90s, 15m, 12h, 30d, 2w or 1y"),
        ("", "'' is not a duration; write 90s, 15m, 12h, 30d, 2w or 1y"),
        ("day", "'day' is not a duration; write 90s, 15m, 12h, 30d, 2w or 1y"),
        ("٣d", "'٣d' is not a duration; write 90s, 15m, 12h, 30d, 2w or 1y"),
        ("0", "the clock moves forward, and at most by 100y at once"),
        ("101y", "the clock moves forward, and at most by 100y at once"),
    ],
)
@pytest.mark.usefixtures("pchain")
def test_command_refuses_a_malformed_duration(text: str, words: str) -> None:
    with pytest.raises(CommandError) as refused:
        call_command("time_travel", "--", text)

    assert str(refused.value).endswith(words)


def test_command_refuses_public_networks(pchain: PChain, settings: Any) -> None:
    settings.NODE = updated(settings.NODE, network_id=5)

    with pytest.raises(CommandError, match="only the clock of a local network can be moved"):
        call_command("time_travel", "1d")


@pytest.mark.usefixtures("db", "node_settings")
def test_command_without_chain_explains_what_is_missing() -> None:
    models.Chain.objects.all().delete()

    with pytest.raises(
        CommandError,
        match=r"^This node has no chain yet: start it with `nunatak`, in a checkout with `make run`",
    ):
        call_command("time_travel", "1d")
    assert not Clock.objects.exists()


def test_follower_refuses_time_travel(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform_runtime(), "_consensus", deciding(platform_runtime(), here=False))
    before = clock.offset()

    with raises(
        TimeTravelReason.PRODUCED_ELSEWHERE,
        kind=ClockNotMovable,
        match="move the clock of that node; the clock of this node follows it",
    ):
        time_travel(platform_runtime(), 60)

    assert clock.offset() == before


def test_voting_network_refuses_time_travel(pchain: PChain, settings: Any) -> None:
    settings.NODE = updated(settings.NODE, consensus="snowman")
    before = clock.offset()

    with raises(
        TimeTravelReason.DECIDED_BY_VOTES,
        kind=ClockNotMovable,
        match=r"^the validators vote on the blocks of this network",
    ):
        time_travel(platform_runtime(), 60)
    with pytest.raises(CommandError, match=r"^the validators vote on the blocks of this network"):
        call_command("time_travel", "60s")

    assert clock.offset() == before
