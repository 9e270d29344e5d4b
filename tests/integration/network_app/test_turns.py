"""Whose turn it is to make a block: always this node's, never, or now and then, as the settings say."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from cchain_app.apps import evm_chain
from chaindb import clock
from chaindb.chains import Chain
from network_app import turns
from network_app.apps import node_network
from network_app.chains.chain import NetworkChain
from network_app.models import NetworkStatus, Peer, SyncPhase
from network_app.ports import Standing
from network_app.proposervm.block import SignedBlock, parse
from network_app.proposervm.errors import HeightNotReached
from network_app.proposervm.windower import SLOT, proposer_at, slot_of
from network_app.store import sync
from network_app.turns import ChainTurns, Producers
from platform_app.apps import platform_chain
from platform_app.config import DAY
from primitives.ids import NodeID
from tests.builders import network_rows, own_node
from tests.builders.evm_chains import produce
from tests.builders.process import begin_anew
from tests.integration.network_app.named import BOOTSTRAP, OTHER, Configure
from tests.integration.network_app.world import FOLLOWER, World, follow, raws, tip
from tests.integration.platform_app.made import node, validator

WEIGHT = 3_000_000_000_000
"""The other's stake, in smallest units: a fair part."""


FOR_EVER = {OTHER: Standing(1e11, True)}
"""The other agrees; no slot begins later."""


def live(
    *,
    silent: float = 0.0,
    phase: str = SyncPhase.BOOTSTRAPPED,
    heard: float = -600,
    roll: Mapping[NodeID, Standing] | None = FOR_EVER,
) -> None:
    """Write that the network's process lives, hears another node, and that both chains are there.

    Negative seconds ago are in the future: then it goes on, however long the test takes.
    """
    network_rows.peer(OTHER, last_received=network_rows.ago(heard))
    network_rows.report(heartbeat_at=network_rows.ago(silent))
    for alias in Chain:
        network_rows.sync(alias, phase=phase, roll=None if roll is None else sync.roll_row(roll))


def producers() -> Producers:
    return node_network().producers


def chain_of(alias: Chain) -> NetworkChain[Any]:
    network = node_network()
    return network.platform if alias is Chain.P else network.evm


def let_weigh(monkeypatch: pytest.MonkeyPatch, weights: Mapping[NodeID, int]) -> None:
    """Let those who take turns have these weights, for a process that has just begun."""
    monkeypatch.setattr(Producers, "validators_at", lambda _producers, _height: weights)
    begin_anew()
    node_network().decide()


def may(alias: Chain = Chain.C, height: int = 1, now: int | None = None) -> bool:
    return chain_of(alias).consensus.may_produce(height, clock.now() if now is None else now)


def test_a_node_that_names_nobody_always_may_and_asks_nobody(configure: Configure) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert all(may(alias, 99, 0) for alias in Chain)
    assert len(queries) == 0
    assert producers().includes_own
    assert producers().nodes == {platform_chain().node_id}


def test_the_only_producer_always_may(world: World, configure: Configure) -> None:
    configure(producers=(str(platform_chain().node_id),))
    assert producers().includes_own
    with CaptureQueriesContext(connection) as queries:
        assert all(may(alias, 99, 0) for alias in Chain)
    assert len(queries) == 0
    assert producers().validators_at(10**9) == {platform_chain().node_id: 1}


def test_a_producer_that_follows_others_has_to_be_there_first(
    world: World, configure: Configure
) -> None:
    configure(bootstrap=BOOTSTRAP, producers=(str(platform_chain().node_id),))
    assert not may()
    live(phase=SyncPhase.BOOTSTRAPPING)
    assert not may()
    live()
    assert all(may(alias) for alias in Chain)
    live(silent=1_000)  # nobody says any more whether it is there
    assert not may()
    live()
    with CaptureQueriesContext(connection) as queries:
        may(now=0)
    assert len(queries) == 2


def test_a_follower_never_may(world: World, configure: Configure, another: NodeID) -> None:
    configure(bootstrap=BOOTSTRAP)
    live()
    assert producers().nodes == {world.p.node_id}
    assert not producers().includes_own
    assert not any(may(alias) for alias in Chain)
    assert producers().validators_at(0) == {world.p.node_id: 1}
    world.p.issue(world.p.make())
    world.c.send(world.c.make(value=1))
    assert produce(evm_chain(), now=clock.now()) is None
    assert platform_chain().consensus.produce(now=clock.now()) is None


def test_the_genesis_first_validator_is_followed_and_makes_blocks(
    world: World, configure: Configure
) -> None:
    configure(bootstrap=BOOTSTRAP)
    live()

    assert producers().includes_own
    assert all(may(alias) for alias in Chain)
    assert produce(evm_chain(), now=clock.now(), allow_empty=True) is not None


def test_who_is_not_named_never_may(world: World, configure: Configure) -> None:
    configure(producers=(str(OTHER),))
    assert not producers().includes_own
    assert not may()


@pytest.mark.parametrize("text", ["", "alice", "NodeID-0", "ALL"])
def test_producers_are_node_ids(configure: Configure, text: str) -> None:
    configure(producers=(str(OTHER), text))
    with pytest.raises(
        turns.MalformedProducer, match=f"^NODE_PRODUCERS has '{text}', which is no node ID: "
    ) as caught:
        assert producers().nodes is None
    assert caught.value.text == text


class Several:
    """Two validators that take turns, of which this node is one. The C-Chain has its first block."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.chain = chain_of(Chain.C)
        self.weights = producers().validators_at(1)
        self.began = chain_of(Chain.C).rows.last().time

    def owner(self, height: int, now: int) -> NodeID | None:
        """Return whose slot it is."""
        slot = slot_of(now, chain_of(Chain.C).rows.last().time)
        return proposer_at(self.chain.chain_id, height, slot, self.weights)

    def times(self, owner: NodeID, *, rest: int | None = None) -> list[int]:
        """Return times of two minutes that are in slots of a node, or so many seconds after their start."""
        return [
            now
            for now in range(self.began, self.began + 120)
            if self.owner(2, now) == owner and rest in {None, (now - self.began) % SLOT}
        ]


@pytest.fixture(params=["all", "named"])
def several(request: pytest.FixtureRequest, world: World, configure: Configure) -> Several:
    """Both, named or as all validators that there are."""
    world.p.do(validator(world.p, "other", end=30 * DAY, weight=WEIGHT))
    world.wall.seconds += 60
    world.make_c()
    both = (str(platform_chain().node_id), str(OTHER))
    configure(bootstrap=BOOTSTRAP, producers=both if request.param == "named" else ("all",))
    live(silent=-600)
    return Several(world)


def test_several_take_turns_by_their_stake(several: Several) -> None:
    assert set(several.weights) == {platform_chain().node_id, OTHER}
    assert several.weights[OTHER] == WEIGHT
    ours, theirs = several.times(platform_chain().node_id), several.times(OTHER)
    assert ours
    assert theirs

    assert not any(may(height=2, now=now) for now in theirs)
    allowed = [now for now in ours if may(height=2, now=now)]
    assert allowed == [now for now in ours if (now - several.began) % SLOT < SLOT - turns.MARGIN]


def test_a_time_before_the_parents_is_in_its_slot(several: Several) -> None:
    first = several.owner(2, several.began) == platform_chain().node_id

    assert [may(height=2, now=several.began - seconds) for seconds in range(7)] == [first] * 7


def test_only_the_next_block_has_a_turn(several: Several) -> None:
    now = several.times(platform_chain().node_id, rest=0)[0]

    assert [may(height=height, now=now) for height in (1, 2, 3)] == [False, True, False]


STRANGER = node("stranger")


def test_nobody_takes_over_before_the_others_have_said_that_they_made_nothing(
    several: Several, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = platform_chain().node_id
    first = [now for now in several.times(own) if now < several.began + SLOT - turns.MARGIN]
    now = next(at for at in several.times(own, rest=2) if at > several.began + SLOT)
    begins = now - 2
    others = {OTHER: Standing(begins, True)}

    def goes_on(roll: Mapping[NodeID, Standing] | None, ours: int = 7, theirs: int = 3) -> bool:
        weights = {own: ours, OTHER: theirs}
        live(silent=-600, roll=roll)
        assert all(may(height=2, now=at) for at in first)  # nobody had a slot before the first
        with monkeypatch.context() as patch:
            let_weigh(patch, weights)
            patch.setattr(turns, "proposer_at", lambda *_: own)
            return may(height=2, now=now)

    assert goes_on(others)
    assert not goes_on({OTHER: Standing(begins - 0.1, True)})
    assert not goes_on({OTHER: Standing(None, True)})
    assert not goes_on(None)
    # Who is not there is not waited for, but its stake is missing.
    assert goes_on({OTHER: Standing(None, False)})
    assert goes_on({})
    assert not goes_on({OTHER: Standing(None, False)}, 5, 5)
    assert not goes_on({}, 5, 5)
    assert goes_on(others, 1, 9)
    # Also who owns no slot of this block may have made one.
    assert not goes_on({**others, STRANGER: Standing(None, True)})
    assert goes_on({**others, STRANGER: Standing(None, False)})
    assert not goes_on({STRANGER: Standing(begins, True)}, 3, 7)


def test_who_owns_all_slots_asks_nobody(several: Several, monkeypatch: pytest.MonkeyPatch) -> None:
    let_weigh(monkeypatch, {platform_chain().node_id: 1})
    live(silent=-600, roll=None)

    assert may(height=2, now=several.began + 1_000 * SLOT)


def test_agreement_is_by_the_clock_on_the_wall(several: Several) -> None:
    now = next(
        at for at in several.times(platform_chain().node_id, rest=2) if at > several.began + SLOT
    )
    begins = now - 2 - 1_000
    with transaction.atomic():
        clock.move(1_000)
    live(silent=-600, roll={OTHER: Standing(begins - 0.001, True)})
    assert not may(height=2, now=now)
    live(silent=-600, roll={OTHER: Standing(begins, True)})
    assert may(height=2, now=now)


@pytest.mark.parametrize("alias", Chain)
def test_a_block_whose_turn_ended_while_it_was_made_is_not_accepted(
    several: Several, alias: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is as if it had never been: another may be made in its place later."""
    own = platform_chain().node_id
    let_weigh(monkeypatch, {own: 5})
    several.world.p.issue(several.world.p.make())
    parent = chain_of(alias).rows.last()
    before = tip(chain_of(alias))
    make = partial(chain_of(alias).consensus.produce, allow_empty=alias is Chain.C)
    may_produce, told = ChainTurns.may_produce, []

    def slow(of_chain: ChainTurns, height: int, now: int | None) -> bool:
        told.append(may_produce(of_chain, height, now))
        several.world.wall.seconds += SLOT - turns.MARGIN
        return told[-1]

    several.world.wall.seconds = parent.time - clock.offset()
    with monkeypatch.context() as patch:
        patch.setattr(ChainTurns, "may_produce", slow)
        assert make(now=clock.now()) is None
    assert told == [True, False]
    assert tip(chain_of(alias)) == before

    several.world.wall.seconds = parent.time - clock.offset()
    assert make(now=clock.now()) is not None
    assert tip(chain_of(alias)).height == before.height + 1


@pytest.mark.parametrize("rest", [0, 3])
def test_a_block_is_wrapped_in_the_slot_in_which_it_was_made(several: Several, rest: int) -> None:
    now = several.times(platform_chain().node_id, rest=rest)[-1]
    several.world.wall.seconds = now
    assert may(height=2)
    made = produce(evm_chain(), now=clock.now(), allow_empty=True)
    assert made is not None
    several.world.wall.seconds += 1_000

    block = parse(raws(several.chain)[1])

    assert isinstance(block, SignedBlock)
    assert (block.time, made.header.timestamp) == (now, now)
    slot = slot_of(block.time, several.began)
    owner = proposer_at(several.chain.chain_id, 2, slot, several.weights)
    assert block.proposer == owner == platform_chain().node_id


def test_nothing_is_made_in_the_last_second_of_a_slot(several: Several) -> None:
    several.world.wall.seconds = several.times(platform_chain().node_id, rest=SLOT - 1)[0]
    assert produce(evm_chain(), now=clock.now(), allow_empty=True) is None
    several.world.wall.seconds -= 1
    assert produce(evm_chain(), now=clock.now(), allow_empty=True) is not None


def test_a_follower_takes_what_was_made_by_turns(several: Several) -> None:
    world = several.world
    for _ in range(4):
        while produce(evm_chain(), now=clock.now(), allow_empty=True) is None:
            world.wall.seconds += 1
    blocks = raws(several.chain)
    p_blocks = raws(chain_of(Chain.P))
    assert len(blocks) == 5
    world.begin_anew()
    node = world.node(FOLLOWER, producers().validators_at)

    follow(node.p, p_blocks, bootstrapping=True, agreed=True)
    follow(node.c, blocks)

    assert node.c.last_accepted().block_id == parse(blocks[-1]).outer_id


def test_who_hears_nobody_takes_no_turn(several: Several) -> None:
    now = several.times(platform_chain().node_id, rest=0)[0]
    assert may(height=2, now=now)
    live(silent=turns.SILENCE + 1)
    assert not may(height=2, now=now)
    live(phase=SyncPhase.BOOTSTRAPPING)
    assert not may(height=2, now=now)


def test_who_hears_no_more_than_half_of_the_stake_takes_no_turn(several: Several) -> None:
    now = several.times(platform_chain().node_id, rest=0)[0]
    weights = several.weights
    assert may(height=2, now=now)

    live(silent=-600, heard=turns.HEARING + 1)  # still connected, but nothing comes
    assert may(height=2, now=now) == (2 * weights[platform_chain().node_id] > sum(weights.values()))
    Peer.objects.all().delete()
    assert may(height=2, now=now) == (2 * weights[platform_chain().node_id] > sum(weights.values()))


def test_of_two_alike_neither_goes_on_alone(
    several: Several, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = platform_chain().node_id
    let_weigh(monkeypatch, {own: 5, OTHER: 5})
    now = several.times(own, rest=0)[0]
    drawn = [at for at in range(now, now + 600) if may(height=2, now=at)]
    assert drawn

    live(silent=-600, heard=turns.HEARING + 1)
    assert not any(may(height=2, now=at) for at in drawn)


def test_of_two_unlike_the_greater_goes_on_alone_and_the_lesser_does_not(
    several: Several, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = platform_chain().node_id
    live(silent=-600, heard=turns.HEARING + 1)
    for ours, theirs, goes_on in ((51, 50, True), (50, 50, False), (50, 51, False)):
        weights = {own: ours, OTHER: theirs}
        let_weigh(monkeypatch, weights)
        found = {may(height=2, now=several.began + seconds) for seconds in range(120)}
        assert found == ({True, False} if goes_on else {False})


def test_without_a_report_nobody_is_heard(several: Several) -> None:
    NetworkStatus.objects.all().delete()

    assert not may(height=2, now=several.times(platform_chain().node_id, rest=0)[0])


def test_of_several_one_makes_the_first_block(
    world: World, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = world.p.node_id
    live()
    for names, makers in (
        (("all",), {first}),
        ((str(first), str(OTHER)), {first}),
        ((str(OTHER), str(node("alice"))), {min(OTHER, node("alice"))}),
    ):
        configure(bootstrap=BOOTSTRAP, producers=names)
        found = set()
        for one in (first, OTHER, node("alice")):
            own_node.be(monkeypatch, one)
            if may():
                found.add(one)
        assert found == makers


def test_where_no_producer_validates_one_goes_on(world: World, configure: Configure) -> None:
    names = (str(OTHER), str(node("alice")))
    configure(bootstrap=BOOTSTRAP, producers=names)

    assert producers().validators_at(0) == {min(OTHER, node("alice")): 1}


def test_where_all_take_turns_and_nobody_validates_the_schedule_names_nobody(
    world: World, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = world.p.node_id
    live()
    world.make_c(1)
    monkeypatch.setattr(turns.stakers, "validators_at", lambda *_: {})
    configure(bootstrap=BOOTSTRAP, producers=("all",))
    assert producers().validators_at(0) == {}
    found = set()
    for one in (first, OTHER):
        own_node.be(monkeypatch, one)
        if may(height=2):
            found.add(one)
    assert found == {first}  # nobody races


def test_who_validates_at_a_height_that_is_not_there_is_not_known(
    world: World, configure: Configure
) -> None:
    world.p.do(validator(world.p, "other", end=30 * DAY))
    configure(bootstrap=BOOTSTRAP, producers=("all",))

    assert set(producers().validators_at(1)) == {world.p.node_id, OTHER}
    assert set(producers().validators_at(0)) == {world.p.node_id}
    with pytest.raises(HeightNotReached, match=r"height: 2 > 1$"):
        producers().validators_at(2)
    live()
    assert [may(Chain.P, 2, clock.now() + 1), may(Chain.P, 3)] == [True, False]


@pytest.mark.parametrize(("network_id", "seconds"), [(12345, 30), (1337, 300), (1, 300)])
def test_epochs_are_shorter_on_the_local_network(
    configure: Configure, network_id: int, seconds: int
) -> None:
    configure(network_id=network_id)

    assert node_network().upgrades.epoch_duration == seconds
