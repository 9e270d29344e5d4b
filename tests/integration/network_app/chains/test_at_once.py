"""Several threads write a chain's outer blocks: each block gets exactly one, and no thread waits forever."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from cchain_app.apps import evm_runtime
from chaindb import clock
from chaindb.database import Database
from chaindb.locks import Lock
from chainvm.errors import InvalidBlock
from chainvm.port import HeadMoved
from network_app.chains.chain import NetworkChain
from network_app.models import OuterBlock
from network_app.proposervm.block import parse
from network_app.proposervm.verification import of_genesis
from tests.builders.evm_chains import produce
from tests.integration.network_app import tables
from tests.integration.network_app.world import (
    FOLLOWER,
    MAKER,
    World,
    follow,
    raws,
    tip,
)

BLOCKS = 12
PATIENCE = 60.0


def elsewhere(pool: ThreadPoolExecutor, work: Callable[[], Any]) -> "Future[Any]":
    """Run a function in a thread that closes its connections at the end."""

    def run() -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    return pool.submit(run)


def assert_keeps_all_rules(chain: NetworkChain[Any], blocks: list[bytes]) -> None:
    """Verify blocks one after the other, as a follower does."""
    vm, genesis = chain.vm.get(), chain.rows.genesis
    last = of_genesis(genesis.block_id, genesis.time)
    for raw in blocks:
        block = vm.parse(raw)
        last = vm.verify_outer(block, last, now=clock.now(), bootstrapping=False)


def test_unchanged_chain_reads_only_its_head(shared_world: World) -> None:
    shared_world.make_c()
    shared_world.make_p()
    for chain in shared_world.maker:
        place = chain.last_accepted()
        with CaptureQueriesContext(connection) as asked:
            assert chain.last_accepted() == place
        assert len(asked) == 1


def test_concurrent_requests_create_one_outer_block_per_block(
    shared_world: World,
) -> None:
    chains = [shared_world.maker.c, shared_world.node(MAKER).c]
    begin = Barrier(5)
    made = Event()

    def make() -> None:
        begin.wait()
        for _ in range(BLOCKS):
            produce(evm_runtime(), now=clock.now(), allow_empty=True)
        made.set()

    def ask(chain: NetworkChain[Any]) -> None:
        begin.wait()
        while not made.is_set():
            chain.last_accepted()

    with ThreadPoolExecutor(5) as pool:
        asking = [elsewhere(pool, lambda item=item: ask(item)) for item in (*chains, *chains)]
        elsewhere(pool, make).result(PATIENCE)
        for task in asking:
            task.result(PATIENCE)

    found = [raws(chain) for chain in (*chains, shared_world.node(MAKER).c)]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == OuterBlock.objects.count() == BLOCKS
    assert_keeps_all_rules(chains[0], found[0])


def test_validators_can_be_read_while_the_chain_is_locked(shared_world: World) -> None:
    """The producer of a P-Chain block reads the proposer within the transaction of its block."""
    chain = shared_world.maker.p
    shared_world.make_p()
    asking, inside = Event(), Event()

    def hold() -> int:
        with transaction.atomic():
            Database().acquire(Lock.PCHAIN)
            inside.set()
            assert asking.wait(PATIENCE)
            return chain.last_accepted().height

    def ask() -> int:
        assert inside.wait(PATIENCE)
        asking.set()
        return chain.last_accepted().height

    with ThreadPoolExecutor(2) as pool:
        heights = [elsewhere(pool, work) for work in (hold, ask)]
        assert [height.result(PATIENCE) for height in heights] == [1, 1]


def test_blocks_are_served_during_acceptance(shared_world: World) -> None:
    for _ in range(BLOCKS):
        shared_world.make_p()
        shared_world.make_c(1)
    past = shared_world.hand_over()
    node = shared_world.node(FOLLOWER)
    done = Event()

    def accept() -> None:
        for p_block, c_block in zip(*past, strict=True):
            follow(node.p, [p_block])
            follow(node.c, [c_block])
        done.set()

    def serve() -> int:
        answers = 0
        while not done.is_set():
            for chain, blocks in zip(node, past, strict=True):
                place = chain.last_accepted()
                known = blocks[: place.height]
                assert [raw for _, raw in chain.accepted_since(0, place.height)] == known
                answers += 1
        return answers

    with ThreadPoolExecutor(3) as pool:
        serving = [elsewhere(pool, serve) for _ in range(2)]
        elsewhere(pool, accept).result(PATIENCE)
        assert all(item.result(PATIENCE) for item in serving)

    assert tables.alike() == shared_world.made


def test_node_that_builds_and_accepts_blocks_has_one_chain(shared_world: World) -> None:
    for _ in range(BLOCKS):
        shared_world.make_c(1)
    past = shared_world.hand_over()
    node = shared_world.node(MAKER)
    node.connect_consensus()
    begin = Barrier(2)

    def accept() -> int:
        begin.wait()
        for height, raw in enumerate(past.c):
            try:
                follow(node.c, [raw])
            except (HeadMoved, InvalidBlock):
                return height
        return BLOCKS

    def make() -> None:
        begin.wait()
        for _ in range(3):
            produce(evm_runtime(), now=clock.now(), allow_empty=True)

    with ThreadPoolExecutor(2) as pool:
        taking, making = elsewhere(pool, accept), elsewhere(pool, make)
        taken = taking.result(PATIENCE)
        making.result(PATIENCE)

    found = raws(node.c)
    assert found[:taken] == past.c[:taken]
    assert len(found) == tip(node.c).height == taken + 3
    assert [row.block_id for row in OuterBlock.objects.order_by("height")] == [
        parse(raw).outer_id for raw in found
    ]
