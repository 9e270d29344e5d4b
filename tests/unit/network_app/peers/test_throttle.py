"""Rates and pools: the peers that wait, those that do not, and the order."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_app.config import NetworkConfig
from network_app.peers import throttle
from network_app.peers.throttle import (
    FRAME_COST,
    BytePool,
    Lease,
    StakeAllocations,
    TokenBucket,
    frame_cost,
    unpacking_cost,
)
from network_app.ports import ValidatorInfo
from primitives.ids import NodeID
from tests.searching import cases

CONFIG = NetworkConfig(network_id=1, shared_pool=6000, shared_pool_of_one=2000)
LARGE = 1000
SMALL = 10
"""A peer's own allowance in the tests that use it; in the others it is zero."""


def node_id(number: int) -> NodeID:
    return NodeID(bytes([number]) * 20)


ALICE, BOB, CAROL, DAVE = map(node_id, range(4))


@pytest.fixture(autouse=True)
def _nothing_to_oneself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle, "ALLOWANCE", 0)


@pytest.fixture
def _small_ones_to_oneself(monkeypatch: pytest.MonkeyPatch, _nothing_to_oneself: None) -> None:
    monkeypatch.setattr(throttle, "ALLOWANCE", SMALL)


def pool(
    share: Mapping[NodeID, int] | None = None, strangers: Sequence[NodeID] = (), **limits: int
) -> BytePool:
    own = share or {}
    return BytePool(
        replace(CONFIG, **limits), lambda who: own.get(who, 0), lambda who: who not in strangers
    )


class Readers:
    """Readers that wait for a pool, and those that have a lease."""

    def __init__(self, tested: BytePool) -> None:
        self.pool = tested
        self.leases: dict[str, Lease] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def come(self, name: str, who: NodeID, size: int) -> None:
        async def take() -> None:
            self.leases[name] = await self.pool.take(who, size)

        self.tasks[name] = asyncio.create_task(take())
        await turn()

    async def leave(self, name: str) -> None:
        self.pool.give_back(self.leases.pop(name))
        await turn()

    @property
    def inside(self) -> str:
        return "".join(sorted(self.leases))


def in_work(tested: BytePool) -> int:
    """Return the number of bytes taken now."""
    return tested._in_shared + tested._own.total()


async def turn() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


# --- rates ---


def test_a_full_bucket_lets_a_burst_through_and_then_paces() -> None:
    bucket = TokenBucket(10, 100, 0.0)

    assert bucket.take(100, 0.0) == 0
    assert bucket.take(5, 0.0) == 0.5
    assert bucket.take(5, 0.0) == 1.0
    assert bucket.take(0, 1.0) == 0


def test_a_bucket_does_not_hold_more_than_its_burst() -> None:
    bucket = TokenBucket(10, 100, 0.0)

    assert bucket.take(110, 1000.0) == 1.0


def test_more_than_a_burst_is_a_debt_and_not_refused() -> None:
    bucket = TokenBucket(10, 100, 0.0)

    assert bucket.take(1100, 0.0) == 100


def test_clock_going_back_adds_no_tokens() -> None:
    bucket = TokenBucket(10, 100, 5.0)
    bucket.take(100, 5.0)

    assert bucket.take(10, 1.0) == 1.0
    assert bucket.take(0, 6.0) == 0


def test_tokens_are_taken_only_if_they_are_there() -> None:
    bucket = TokenBucket(1, 2, 0.0)

    assert [bucket.try_take(1, 0.0) for _ in range(3)] == [True, True, False]
    assert bucket.try_take(1, 1.0)


def test_another_rate_counts_from_now_on() -> None:
    bucket = TokenBucket(10, 100, 0.0)
    bucket.take(200, 0.0)

    bucket.change(20, 100, 5.0)

    assert bucket.take(0, 5.0) == 2.5
    assert bucket.take(0, 7.5) == 0


def test_smaller_bucket_keeps_tokens_up_to_its_size() -> None:
    bucket = TokenBucket(10, 100, 0.0)

    bucket.change(10, 30, 0.0)

    assert bucket.take(40, 0.0) == 1.0


@settings(max_examples=cases(30))
@given(st.lists(st.tuples(st.integers(0, 500), st.floats(0, 10)), max_size=30))
def test_tokens_do_not_exceed_burst_and_rate(takes: list[tuple[int, float]]) -> None:
    bucket, now, taken = TokenBucket(50, 200, 0.0), 0.0, 0.0
    for cost, pause in takes:
        wait = bucket.take(cost, now)
        taken += cost
        now += wait + pause
        assert taken <= 200 + 50 * now + 1e-6


def test_frames_cost_their_bytes_and_a_fee() -> None:
    assert frame_cost(0) == FRAME_COST
    assert frame_cost(1000) == 1000 + FRAME_COST


def test_decompressed_bytes_cost_an_eighth() -> None:
    assert unpacking_cost(100, 100) == unpacking_cost(100, 90) == 0
    assert unpacking_cost(100, 900) == 100


# --- the pool ---


@pytest.mark.usefixtures("_small_ones_to_oneself")
async def test_small_messages_use_the_own_allowance() -> None:
    readers = Readers(pool(shared_pool=0))

    await readers.come("a", ALICE, SMALL)
    await readers.come("b", BOB, SMALL)
    await readers.come("c", ALICE, 1)

    assert readers.inside == "ab"
    assert in_work(readers.pool) == 2 * SMALL
    await readers.leave("a")
    assert readers.inside == "bc"


@pytest.mark.usefixtures("_small_ones_to_oneself")
async def test_shared_pool_covers_only_bytes_above_the_own_allowance() -> None:
    tested = pool({ALICE: LARGE}, shared_pool=LARGE)

    lease = await tested.take(ALICE, LARGE + SMALL + 1)
    assert (lease.own, lease.shared) == (LARGE + SMALL, 1)

    tested.give_back(lease)
    assert in_work(tested) == 0


async def test_unknown_peers_use_at_most_half_of_the_shared_pool() -> None:
    readers = Readers(
        pool(strangers=(ALICE, BOB, DAVE), shared_pool=4 * LARGE, shared_pool_of_one=4 * LARGE)
    )

    for name, who in zip("abd", (ALICE, BOB, DAVE), strict=True):
        await readers.come(name, who, LARGE)
    await readers.come("c", CAROL, LARGE)

    assert readers.inside == "abc"
    await readers.leave("c")
    assert readers.inside == "ab"
    await readers.leave("a")
    assert readers.inside == "bd"


async def test_peer_that_became_known_returns_its_lease_as_unknown() -> None:
    strangers = [ALICE]
    tested = pool(strangers=strangers, shared_pool=2 * LARGE)
    lease = await tested.take(ALICE, LARGE)

    strangers[:] = [BOB]
    tested.give_back(lease)

    assert tested._of_strangers == 0
    assert tested._grant(Lease(BOB, strange=True), LARGE)


async def test_share_of_the_common_pool_per_peer_is_limited() -> None:
    readers = Readers(pool(shared_pool=10 * LARGE, shared_pool_of_one=2 * LARGE))

    for name in "abc":
        await readers.come(name, ALICE, LARGE)
    await readers.come("d", BOB, LARGE)

    assert readers.inside == "abd"
    await readers.leave("d")
    assert readers.inside == "ab"
    await readers.leave("a")
    assert readers.inside == "bc"


async def test_single_message_of_any_size_is_admitted() -> None:
    readers = Readers(pool(shared_pool=1, shared_pool_of_one=1))

    await readers.come("a", ALICE, LARGE)
    await readers.come("b", BOB, LARGE)

    assert readers.inside == "a"
    assert readers.pool.waiting == 1
    await readers.leave("a")
    assert readers.inside == "b"


async def test_the_first_to_wait_is_the_first_to_be_let_in() -> None:
    readers = Readers(pool(shared_pool=1))
    await readers.come("a", ALICE, LARGE)
    for name, who in zip("bcd", (BOB, CAROL, DAVE), strict=True):
        await readers.come(name, who, LARGE)

    for name, after in (("a", "b"), ("b", "c"), ("c", "d")):
        await readers.leave(name)
        assert readers.inside == after


@pytest.mark.usefixtures("_small_ones_to_oneself")
async def test_peer_with_own_allowance_is_not_queued() -> None:
    readers = Readers(pool(shared_pool=1))
    await readers.come("a", ALICE, LARGE)
    await readers.come("b", BOB, LARGE)

    await readers.come("c", CAROL, SMALL)

    assert readers.inside == "ac"


async def test_a_validator_has_its_share_besides() -> None:
    readers = Readers(pool({ALICE: 2 * LARGE}, shared_pool=1))
    await readers.come("a", BOB, LARGE)

    for name in "bcd":
        await readers.come(name, ALICE, LARGE)

    assert readers.inside == "abc"
    await readers.leave("b")
    assert readers.inside == "acd"


async def test_a_reader_that_gives_up_takes_nothing() -> None:
    readers = Readers(pool(shared_pool=1))
    await readers.come("a", ALICE, LARGE)
    await readers.come("b", BOB, LARGE)
    await readers.come("c", CAROL, LARGE)

    readers.tasks["b"].cancel()
    await turn()
    assert readers.pool.waiting == 1
    await readers.leave("a")

    assert readers.inside == "c"


async def test_a_reader_that_gives_up_when_it_is_let_in_gives_back() -> None:
    readers = Readers(pool(shared_pool=1))
    await readers.come("a", ALICE, LARGE)
    await readers.come("b", BOB, LARGE)

    readers.pool.give_back(readers.leases.pop("a"))  # admits b, whose task has not run yet
    readers.tasks["b"].cancel()
    await turn()

    assert in_work(readers.pool) == 0
    assert readers.inside == ""


async def test_lease_grows_while_the_pool_has_space() -> None:
    tested = pool(shared_pool=10 * LARGE, shared_pool_of_one=3 * LARGE)
    lease = await tested.take(ALICE, LARGE)

    assert tested.try_extend(lease, LARGE)
    assert in_work(tested) == 2 * LARGE

    tested.give_back(lease)
    assert in_work(tested) == 0


async def test_only_one_lease_exceeds_the_pool_at_a_time() -> None:
    tested = pool(shared_pool=2 * LARGE)
    first, second = await tested.take(ALICE, LARGE), await tested.take(BOB, LARGE)

    assert tested.try_extend(first, LARGE)
    assert not tested.try_extend(second, LARGE)
    waiting = asyncio.create_task(tested.extend(second, LARGE))
    await turn()
    assert not waiting.done()

    tested.give_back(first)
    await turn()
    assert waiting.done()
    assert in_work(tested) == 2 * LARGE
    tested.give_back(second)
    assert in_work(tested) == 0


async def test_growing_leases_that_exhaust_the_pool_all_complete() -> None:
    tested = pool(shared_pool=5 * LARGE)
    done: list[int] = []

    async def read(number: int) -> None:
        lease = await tested.take(node_id(number), LARGE)
        await asyncio.sleep(0)
        if not tested.try_extend(lease, LARGE):
            await tested.extend(lease, LARGE)
        await asyncio.sleep(0)
        done.append(number)
        assert in_work(tested) <= 8 * LARGE
        tested.give_back(lease)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(read(number))

    assert sorted(done) == list(range(20))
    assert in_work(tested) == tested.waiting == 0


async def test_giving_back_twice_gives_back_once() -> None:
    tested = pool()
    lease = await tested.take(ALICE, LARGE)
    other = await tested.take(BOB, 10)

    tested.give_back(lease)
    tested.give_back(lease)

    assert in_work(tested) == 10
    tested.give_back(other)
    assert in_work(tested) == 0


# --- shares ---


class Known:
    """A directory whose validators are replaced all together."""

    def __init__(self, **weights: int) -> None:
        self.facts: dict[NodeID, ValidatorInfo] = {}
        self.set(**weights)

    def set(self, **weights: int) -> None:
        names = {"alice": ALICE, "bob": BOB, "carol": CAROL}
        self.facts = {names[name]: ValidatorInfo(it, None) for name, it in weights.items()}

    def validators(self, subnet_id: object = None) -> Mapping[NodeID, ValidatorInfo]:
        return self.facts

    def uptime_of(self, node_id: NodeID) -> int:
        return 0


def test_the_validators_pool_is_divided_by_stake() -> None:
    known = Known(alice=3, bob=1)
    shares = StakeAllocations(replace(CONFIG, validator_pool=4000), known)

    assert (shares.of(ALICE), shares.of(BOB), shares.of(CAROL)) == (3000, 1000, 0)

    known.set(alice=1, carol=1)
    assert (shares.of(ALICE), shares.of(BOB), shares.of(CAROL)) == (2000, 0, 2000)


def test_validators_without_stake_have_no_share() -> None:
    assert StakeAllocations(CONFIG, Known(alice=0)).of(ALICE) == 0


@pytest.mark.parametrize("size", [0, 1, LARGE])
async def test_a_lease_is_all_that_was_taken(size: int) -> None:
    lease = await pool().take(ALICE, size)

    assert lease.own + lease.shared == size
