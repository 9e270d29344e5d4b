"""The engine's messages on the wire, and the answers to them; time is virtual."""

import asyncio
from typing import Any

import pytest

from network_app.consensus.sender import (
    MAX_GETS,
    PAUSE,
    PeerSender,
    PendingBlocksLimit,
    Work,
    read_chits,
)
from network_app.consensus.validators import CurrentValidators
from network_app.peers.bench import Bench
from network_app.snowman.ports import Chits
from network_app.sync.requests import Requests
from network_app.wire import p2p_pb2 as p2p
from network_app.wire.framing import MAX_FRAME
from primitives.ids import ID, NodeID
from tests.builders.chain_vm import GENESIS, text_block
from tests.builders.memory_network import node_id
from tests.builders.voting import CHAIN, CONFIG, OWN, PEERS, QUICK, Peers, chits, until, virtually

A = text_block(GENESIS, "a")
STRANGER = node_id("stranger")


class Recorder:
    """An engine that records its calls."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.pending: dict[ID, Any] = {}

    def __getattr__(self, name: str) -> Any:
        async def tell(*args: Any) -> None:
            self.told.append((name, *args))

        return tell


class Case:
    """A sender, and an engine that is called immediately."""

    def __init__(self) -> None:
        clock = asyncio.get_running_loop().time
        self.peers, self.bench, self.engine = Peers(), Bench(CONFIG), Recorder()
        self.requests = Requests(
            self.peers, self.bench, CONFIG, alias="P", chain_id=CHAIN, clock=clock
        )
        self.validators = CurrentValidators(
            self.peers, self.bench, QUICK, own=OWN, alias="P", clock=clock
        )
        self.failed: list[NodeID] = []
        room = PendingBlocksLimit(self.validators.is_validator, lambda: self.failed.append(OWN))
        self.sender = PeerSender(
            self.peers, self.requests, self.validators, room, enqueue=self._tell, chain_id=CHAIN
        )
        self._tasks: list[asyncio.Future[None]] = []

    def _tell(self, sender: NodeID, work: Work) -> None:
        del sender
        self._tasks.append(asyncio.ensure_future(work(self.engine)))  # type: ignore[arg-type]

    @property
    def told(self) -> list[tuple[Any, ...]]:
        return self.engine.told

    def pull(self, *node_ids: NodeID, number: int = 7) -> None:
        self.sender.send_pull_query(node_ids, number, A.block_id, 1)


def test_query_has_one_request_id_and_a_deadline() -> None:
    async def run() -> None:
        case = Case()
        case.pull(*PEERS[:3])
        queries = [one for _, one in case.peers.told("pull_query")]
        assert len(queries) == 3
        assert len({query.request_id for query in queries}) == 1
        for item in queries:
            assert item.deadline == 2_000_000_000
            assert (item.container_id, item.requested_height) == (bytes(A.block_id), 1)
            assert item.chain_id == bytes(CHAIN)
        case.sender.send_push_query(PEERS[:1], 8, A.raw, 2)
        ((node_id, push),) = case.peers.told("push_query")
        assert (node_id, push.container, push.requested_height) == (PEERS[0], A.raw, 2)
        assert push.request_id != queries[0].request_id

    virtually(run())


def test_answer_has_the_request_id_of_the_engine() -> None:
    async def run() -> None:
        case = Case()
        case.pull(*PEERS[:2], number=7)
        ((_, query), *_) = case.peers.told("pull_query")
        assert case.requests.answered(PEERS[0], chits(A, query.request_id, GENESIS))
        await until(lambda: case.told)
        votes = Chits(A.block_id, A.block_id, GENESIS.block_id, 0)
        assert case.told == [("chits", PEERS[0], 7, votes)]
        await until(lambda: len(case.told) == 2)  # the other peer does not answer
        assert case.told[1] == ("query_failed", PEERS[1], 7)
        assert asyncio.get_running_loop().time() >= 2.0
        assert not case.requests.answered(PEERS[1], chits(A, query.request_id))

    virtually(run())


def test_silence_is_held_against_a_peer() -> None:
    async def run() -> None:
        case = Case()
        for _ in range(9):
            case.pull(PEERS[0])
        await until(lambda: len(case.told) == 9)
        assert case.bench.is_benched(PEERS[0], "P", asyncio.get_running_loop().time())

    virtually(run())


def test_query_to_the_own_node_is_answered_locally() -> None:
    async def run() -> None:
        case = Case()
        case.pull(OWN, number=7)
        case.sender.send_push_query([OWN], 8, A.raw, 2)
        votes = Chits(A.block_id, A.block_id, GENESIS.block_id, 0)
        case.sender.send_chits(OWN, 9, votes)
        case.sender.send_get(OWN, 10, A.block_id)
        await until(lambda: len(case.told) == 4)
        assert case.told == [
            ("pull_query", OWN, 7, A.block_id, 1),
            ("push_query", OWN, 8, A.raw, 2),
            ("chits", OWN, 9, votes),
            ("get_failed", OWN, 10),
        ]
        assert case.peers.sent == []

    virtually(run())


def test_query_to_absent_or_benched_peer_fails_immediately() -> None:
    async def run() -> None:
        case = Case()
        case.peers.facts.pop(PEERS[0])
        case.peers.there.remove(PEERS[1])
        for _ in range(9):
            case.bench.failed(PEERS[0], "P", 0.0)
        case.pull(*PEERS)
        await until(lambda: len(case.told) == 2)
        assert asyncio.get_running_loop().time() < 0.1
        assert case.told == [("query_failed", PEERS[0], 7), ("query_failed", PEERS[1], 7)]
        assert [node_id for node_id, _ in case.peers.told("pull_query")] == PEERS[2:]
        for number, one in enumerate(PEERS[:2]):
            case.sender.send_get(one, number, A.block_id)
        await until(lambda: len(case.told) == 4)
        assert case.told[2:] == [("get_failed", PEERS[0], 0), ("get_failed", PEERS[1], 1)]
        assert asyncio.get_running_loop().time() < 0.1

    virtually(run())


def test_poll_with_most_validators_unreachable_fails_soon() -> None:
    async def run() -> None:
        case = Case()
        case.peers.full = set(PEERS[1:])
        case.pull(*PEERS)
        await until(lambda: len(case.told) == 3)
        assert asyncio.get_running_loop().time() >= PAUSE

    virtually(run())


def test_undeliverable_query_extends_the_timeout() -> None:
    async def run() -> None:
        case = Case()
        case.peers.there = PEERS[1:]
        for _ in range(5):
            case.sender.send_get(PEERS[0], 1, A.block_id)
        case.pull(PEERS[1])
        ((_, query),) = case.peers.told("pull_query")
        assert query.deadline > 2_000_000_000

    virtually(run())


def test_requested_block_is_sent() -> None:
    async def run() -> None:
        case = Case()
        case.sender.send_get(PEERS[0], 5, A.block_id)
        case.sender.send_get(PEERS[1], 6, A.block_id)
        ((_, first), _) = case.peers.told("get")
        assert first.container_id == bytes(A.block_id)
        case.requests.answered(PEERS[0], p2p.Put(request_id=first.request_id, container=A.raw))
        await until(lambda: len(case.told) == 2)
        assert case.told == [("put", PEERS[0], 5, A.raw), ("get_failed", PEERS[1], 6)]

    virtually(run())


def test_block_above_the_queue_limit_fails_its_request() -> None:
    async def run() -> None:
        case = Case()
        case.engine.pending = dict.fromkeys(
            (ID(number.to_bytes(32, "big")) for number in range(2000)), A
        )
        case.sender.send_get(PEERS[0], 5, A.block_id)
        ((_, question),) = case.peers.told("get")
        case.requests.answered(PEERS[0], p2p.Put(request_id=question.request_id, container=A.raw))
        await until(lambda: case.told)
        assert case.told == [("get_failed", PEERS[0], 5)]
        assert case.failed == [OWN]

    virtually(run())


@pytest.mark.parametrize(
    ("who", "other"),
    [(PEERS[0], PEERS[1]), (STRANGER, PEERS[0])],
    ids=["a validator", "a stranger"],
)
def test_open_requests_are_limited_per_peer(who: NodeID, other: NodeID) -> None:
    async def run() -> None:
        case = Case()
        case.peers.there.append(STRANGER)
        for number in range(MAX_GETS + 5):
            case.sender.send_get(who, number, A.block_id)
        case.sender.send_get(other, 1000, A.block_id)
        assert len(case.peers.told("get")) == MAX_GETS + 1
        await until(lambda: len(case.told) == 5)
        assert asyncio.get_running_loop().time() < 0.1
        await until(lambda: len(case.told) == MAX_GETS + 6)
        await asyncio.sleep(CONFIG.bench_time)
        case.sender.send_get(who, 2000, A.block_id)
        assert len(case.peers.told("get")) == MAX_GETS + 2

    virtually(run())


def test_chits_have_all_four_fields() -> None:
    async def run() -> None:
        case = Case()
        b = text_block(A, "b")
        case.sender.send_chits(PEERS[0], 9, Chits(b.block_id, A.block_id, GENESIS.block_id, 3))
        ((_, sent),) = case.peers.told("chits")
        assert read_chits(sent) == Chits(b.block_id, A.block_id, GENESIS.block_id, 3)
        assert (sent.request_id, sent.chain_id) == (9, bytes(CHAIN))

    virtually(run())


@pytest.mark.parametrize("field", ["preferred_id", "preferred_id_at_height", "accepted_id"])
def test_chits_with_malformed_id_are_no_vote(field: str) -> None:
    async def run() -> None:
        case = Case()
        case.pull(PEERS[0])
        ((_, query),) = case.peers.told("pull_query")
        answer = chits(A, query.request_id)
        setattr(answer, field, b"short")
        case.requests.answered(PEERS[0], answer)
        await until(lambda: case.told)
        assert case.told == [("query_failed", PEERS[0], 7)]

    virtually(run())


def test_a_block_that_no_peer_would_read_fails_for_all() -> None:
    async def run() -> None:
        case = Case()
        case.sender.send_push_query(PEERS, 7, bytes(MAX_FRAME), 1)
        await until(lambda: len(case.told) == 4)
        assert {item[0] for item in case.told} == {"query_failed"}

    virtually(run())


def test_ended_engine_receives_no_answers() -> None:
    async def run() -> None:
        case = Case()
        case.pull(OWN, *PEERS)
        case.sender.send_get(PEERS[0], 8, A.block_id)
        ((_, query), *_) = case.peers.told("pull_query")
        await asyncio.sleep(0)
        case.told.clear()
        case.sender.close()
        case.requests.answered(PEERS[0], chits(A, query.request_id))
        await asyncio.sleep(CONFIG.most_request_timeout)
        assert case.told == []

    virtually(run())


def test_answer_of_another_kind_is_no_vote() -> None:
    async def run() -> None:
        case = Case()
        case.pull(PEERS[0])
        ((_, query),) = case.peers.told("pull_query")
        error = p2p.AppError(request_id=query.request_id, error_code=-1)
        assert case.requests.answered(PEERS[0], error)
        await until(lambda: case.told)
        assert case.told == [("query_failed", PEERS[0], 7)]

    virtually(run())
