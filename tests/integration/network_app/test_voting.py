"""When the validators vote: makers only announce blocks, each validator has its slots, and the clock is never moved."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from cchain_app import tasks as cchain_tasks
from cchain_app.apps import evm_runtime
from chaindb import clock
from chaindb.chains import C_CHAIN, P_CHAIN
from chaindb.events import ChainEvents
from network_app.apps import node_network
from network_app.chains.voting import BLOCKS_WAITING
from network_app.models import SyncPhase
from network_app.proposervm.windower import WINDOW_DURATION, proposer_at, slot_of
from network_app.services import clock_follows_blocks
from platform_app import tasks as platform_tasks
from platform_app.apps import platform_chain, platform_runtime
from platform_app.config import DAY
from platform_app.services.errors import ClockNotMovable, TimeTravelReason
from platform_app.services.time_travel import time_travel
from tests.builders import health_checks as checks
from tests.builders import network_rows
from tests.builders.nodes import node as node_with_keys
from tests.builders.reasons import raises
from tests.integration.network_app.named import BOOTSTRAP, OTHER, Configure
from tests.integration.network_app.world import World
from tests.integration.platform_app.made import validator

WEIGHT = 3_000_000_000_000
"""The other validator's stake, in smallest units: a considerable share."""


@pytest.fixture
def voting(world: World, configure: Configure) -> World:
    """Two validators; the C-Chain has its first block, whose children have slots."""
    world.p.do(validator(world.p, "other", end=30 * DAY, weight=WEIGHT))
    world.wall.seconds += 60
    world.make_c()
    configure(bootstrap=BOOTSTRAP, consensus="snowman")
    live()
    return world


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The events sent for both chains."""
    found: list[tuple[str, Any]] = []
    monkeypatch.setattr(ChainEvents, "send", lambda _, *sent: found.append(sent))
    return found


def live(phase: str = SyncPhase.BOOTSTRAPPED) -> None:
    """Write that the network process runs, and the sync state of both chains."""
    network_rows.report(heartbeat_at=network_rows.ago(-600))
    for alias in (P_CHAIN, C_CHAIN):
        network_rows.sync(alias, phase=phase)


def owned(world: World) -> Callable[[int], bool]:
    """Return a function that tells whether a time is in one of this node's slots on the C-Chain's head."""
    chain = node_network().chains["C"]
    parent = chain.rows.last()
    weights = node_network().producer.validators_at(parent.p_chain_height or 0)
    assert set(weights) == {platform_chain().node_id, OTHER}

    def is_ours(now: int) -> bool:
        slot = slot_of(now, parent.time)
        return proposer_at(chain.chain_id, 2, slot, weights) == platform_chain().node_id

    return is_ours


def test_each_validator_may_propose_in_its_slots(voting: World) -> None:
    is_ours = owned(voting)
    began = node_network().chains["C"].rows.last().time
    moments = range(began, began + 24 * WINDOW_DURATION)
    assert {is_ours(now) for now in moments} == {True, False}
    may = evm_runtime().consensus.may_produce
    assert [may(2, now) for now in moments] == [is_ours(now) for now in moments]
    assert not any(may(3, now) for now in moments)
    live(SyncPhase.BOOTSTRAPPING)
    assert not any(may(2, now) for now in moments)


def test_voting_network_has_no_single_producer(voting: World) -> None:
    producer = node_network().producer
    assert producer.node_id is None
    assert not producer.is_own
    assert producer.announced_name == "all"


def test_the_first_block_is_whoevers(world: World, configure: Configure) -> None:
    configure(consensus="snowman")
    live()
    assert platform_runtime().consensus.may_produce(1, clock.now())
    assert evm_runtime().consensus.may_produce(1, clock.now())


def test_production_tasks_notify_the_voter_and_build_nothing(
    voting: World, configure: Configure, told: list[tuple[str, Any]]
) -> None:
    configure(mining="auto")
    voting.p.issue(voting.p.make())
    voting.c.send(voting.c.make(value=1))
    heads = platform_chain().tip().height, evm_runtime().vm.last_accepted()
    told.clear()
    assert platform_tasks.build_blocks() == {"blocks": 0}
    assert cchain_tasks.produce_blocks() == {"blocks": 0}
    assert told == [(alias, {"type": BLOCKS_WAITING}) for alias in (P_CHAIN, C_CHAIN)]
    assert heads == (platform_chain().tip().height, evm_runtime().vm.last_accepted())


def test_interval_mining_notifies_the_voter(
    voting: World, configure: Configure, told: list[tuple[str, Any]]
) -> None:
    configure(mining="interval", block_interval=2.0)
    voting.wall.seconds += 10
    assert cchain_tasks.beat(evm_runtime()) == {"blocks": 0}
    assert [chain for chain, _ in told] == [C_CHAIN]


@pytest.mark.parametrize(
    ("mining", "delay", "allow_empty"), [("auto", 0, False), ("interval", 3, True)]
)
def test_voted_chains_have_their_own_block_delays(
    voting: World, configure: Configure, mining: str, delay: int, *, allow_empty: bool
) -> None:
    configure(mining=mining, block_interval=3.0)
    network = node_network()
    network.identity = node_with_keys(0).identity
    p, c = (network.chains[name].voted() for name in ("P", "C"))
    assert (p.alias, p.minimum_delay, p.allow_empty) == ("P", 1, False)
    assert (c.alias, c.minimum_delay, c.allow_empty) == ("C", delay, allow_empty)


def test_sole_producer_has_no_voting_part(world: World, configure: Configure) -> None:
    assert node_network().take_part() is None


def test_parameters_are_those_of_the_network(voting: World, configure: Configure) -> None:
    assert node_network().parameters().alpha_confidence == 15


@pytest.mark.parametrize(("parameters", "alpha"), [("specification", 13), ("avalanchego", 15)])
def test_sample_size_among_reference_nodes_is_theirs(
    world: World, configure: Configure, parameters: str, alpha: int
) -> None:
    for name in ("second", "third", "fourth", "fifth"):
        world.p.do(validator(world.p, name, end=30 * DAY, weight=WEIGHT))
    configure(consensus="snowman", parameters=parameters)
    assert node_network().parameters().alpha_preference == alpha
    assert node_network().parameters().alpha_confidence == alpha


def test_voting_network_clock_cannot_be_moved(voting: World) -> None:
    before = clock.offset()
    assert not clock_follows_blocks()
    with raises(TimeTravelReason.DECIDED_BY_VOTES, kind=ClockNotMovable, match="NODE_CONSENSUS"):
        time_travel(platform_runtime(), 60)
    assert clock.offset() == before


def test_produce_block_command_is_refused_when_voting(voting: World) -> None:
    with pytest.raises(CommandError, match=r"^The validators vote on blocks"):
        call_command("produce_block", "--empty")


def test_health_reports_that_validators_accept_nothing(
    voting: World, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    voting.c.send(voting.c.make(value=1))
    configure(mining="auto")
    monkeypatch.setattr(checks, "BEGAN", 0.0)
    voting.wall.seconds += 25
    error = checks.measure_c_chain().error
    assert "1 transaction pending for 25s, but the validators accept no blocks" in error
