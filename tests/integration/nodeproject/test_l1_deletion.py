"""A deleted L1: its chains end in a running node, and do not begin at the next start; others continue."""

import fcntl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from cchain_app.selectors.obstacles import BlockObstacle
from explorer_app.managers.ports import AnotherAtWork, CallRefused, NodeStopped
from explorer_app.selectors.chains import why_not
from explorer_app.services import l1_deletion
from explorer_app.services.l1_deletion import NotDeleted
from nodeproject.startup import chain_obstacles
from nodeproject.startup.chain_databases import alias_of, file_of
from nodeproject.web import l1_tools
from nodeproject.web.l1_tools import NodeL1Tools
from primitives.ids import ID, PRIMARY_NETWORK_ID
from tests.builders.fake_chain import serving
from tests.builders.node_settings import updated
from tests.builders.subnet_evm import subnet_genesis
from tests.integration.nodeproject.test_subnet_chains import (
    World,
    application,
    client,
    forget,
    rows,
    started,
    world,
)
from tests.integration.platform_app.conftest import PChain, shared_pchain
from tests.servers.ports import free_port

__all__ = ["PChain", "application", "client", "shared_pchain", "world"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.node_settings(mining="manual", track_subnets=("all",)),
]


class QuietTools(NodeL1Tools):
    """Tools of a node that answers without HTTP, and looks at its chains when it is called.

    Args:
        world: The node.
        looks: Whether it looks at its chains.
        failures: Raised by the first calls, in this order.
    """

    def __init__(
        self, world: World, *, looks: bool = True, failures: Sequence[Exception] = ()
    ) -> None:
        super().__init__(world.node.settings, world.node.platform_chain)
        self._world = world
        self._looks = looks
        self._failures = list(failures)

    def call(self, path: str, method: str, *params: Any) -> object:
        if self._failures:
            raise self._failures.pop(0)
        if self._looks:
            self._world.node.subnet_chains.look()
        assert path == "/ext/bc/P"
        (given,) = params
        return self._world.ask(method, **given)


def delete(world: World, subnet_id: ID, **given: Any) -> list[ID]:
    tools = QuietTools(world, **given)
    return l1_deletion.delete(world.node.platform_chain, tools, subnet_id)


def test_a_deleted_chain_ends_and_its_database_goes(world: World) -> None:
    gone = world.create()
    kept = world.create(subnet_genesis(9_002), "kept", subnet_id=world.subnet())
    path, is_file = (
        file_of(gone, world.node.settings),
        world.node.database.connection.vendor == "sqlite",
    )
    assert path.exists() is is_file

    assert delete(world, world.subnet_id) == [gone]

    assert str(gone) not in world.node.evm_chains
    assert str(kept) in world.node.evm_chains
    row = world.row(gone)
    assert (row.state, row.reason, row.database) == (
        rows.DELETED,
        "it was deleted on this node",
        "",
    )
    assert not path.exists()
    if not is_file:
        schemas = world.node.database.rows("SELECT nspname FROM pg_namespace")
        assert (alias_of(gone),) not in schemas
        assert (alias_of(kept),) in schemas
    assert why_not(world.node.platform_chain, str(gone)) == "it was deleted on this node"
    status = world.ask("platform.getBlockchainStatus", blockchainID=str(gone))
    assert status == {"status": "Created"}
    assert delete(world, world.subnet_id) == [gone], "a second call removes the rest"


def test_a_deleted_chain_does_not_begin_with_the_next_start(world: World) -> None:
    gone = world.create()
    delete(world, world.subnet_id)

    again = started(world.node.settings)
    again.subnet_chains.look()

    assert str(gone) not in again.evm_chains
    assert not again.refused_chains
    assert world.row(gone).state == rows.DELETED
    forget(again)


def test_its_chain_id_and_name_are_free(world: World) -> None:
    first = world.create()
    delete(world, world.subnet_id)

    second = world.create(subnet_id=world.subnet())

    assert world.row(second).state == rows.RUNNING
    assert world.chain(second).is_named("dex")
    assert second != first


@pytest.mark.sqlite_only
def test_a_refused_chain_is_no_fault_any_more(world: World) -> None:
    refused = world.create(b"{")
    other = world.create(b"[", "other", subnet_id=world.subnet())
    assert set(world.node.refused_chains) == {refused, other}

    delete(world, world.subnet_id)

    assert set(world.node.refused_chains) == {other}


@pytest.mark.sqlite_only
def test_a_node_that_goes_on_running_the_chain_is_reported(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = world.create()
    monkeypatch.setattr(l1_deletion, "END_SECONDS", 0)

    with pytest.raises(
        NotDeleted, match=f"the node may still run {gone}, which it will end at its"
    ):
        delete(world, world.subnet_id, looks=False)

    assert alias_of(gone) in connections.settings
    world.node.subnet_chains.look()
    assert str(gone) not in world.node.evm_chains


@pytest.mark.sqlite_only
def test_the_chains_of_the_primary_network_stay(world: World) -> None:
    with pytest.raises(NotDeleted, match="the chains of the Primary Network cannot be deleted"):
        delete(world, PRIMARY_NETWORK_ID)

    assert world.node.evm_chain.name in world.node.evm_chains


@pytest.mark.sqlite_only
def test_the_command_finds_only_l1s(world: World) -> None:
    world.create()

    with pytest.raises(CommandError, match="There is no L1 dex"):
        call_command("l1", "delete", "dex")


@pytest.mark.sqlite_only
def test_a_busy_node_is_asked_until_it_answers(world: World) -> None:
    gone = world.create()
    busy = CallRefused("no answer to platform.getBlockchainStatus: HTTP Error 503")

    assert delete(world, world.subnet_id, failures=[busy, busy]) == [gone]

    assert str(gone) not in world.node.evm_chains, "it was ended before its rows were removed"


@pytest.mark.sqlite_only
def test_a_node_that_does_not_answer_keeps_its_rows(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = world.create()
    monkeypatch.setattr(l1_deletion, "END_SECONDS", 0)
    silent = CallRefused("no answer to platform.getBlockchainStatus: timed out")

    with pytest.raises(NotDeleted, match=f"the node may still run {gone}"):
        delete(world, world.subnet_id, failures=[silent] * 1_000)

    assert file_of(gone, world.node.settings).exists()


@pytest.mark.sqlite_only
@pytest.mark.parametrize(
    ("profile", "kind"), [("embedded", NodeStopped), ("production", CallRefused)]
)
def test_only_an_embedded_node_is_stopped_if_it_refuses_the_connection(
    world: World, profile: str, kind: type[CallRefused], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(l1_tools, "running_url", lambda _: f"http://127.0.0.1:{free_port()}")
    settings = updated(world.node.settings, profile=profile)

    with pytest.raises(CallRefused, match="Connection refused") as refused:
        NodeL1Tools(settings, world.node.platform_chain).call("/ext/bc/P", "platform.getHeight")

    assert type(refused.value) is kind


@pytest.mark.sqlite_only
@pytest.mark.parametrize("status", [401, 403, 503])
def test_a_node_that_answers_with_an_http_error_is_not_stopped(
    world: World, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = NodeL1Tools(world.node.settings, world.node.platform_chain)
    with serving(lambda _asked: (status, b"")) as url:
        monkeypatch.setattr(l1_tools, "running_url", lambda _: url)
        with pytest.raises(CallRefused, match=f"HTTP Error {status}") as refused:
            tools.call("/ext/bc/P", "platform.getHeight")

    assert type(refused.value) is CallRefused


@pytest.fixture
def deleted_meanwhile(world: World, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that lets another process delete the chains just before the node's next transaction begins."""
    db = world.node.database
    atomic = db.atomic

    def arm() -> None:
        @contextmanager
        def late(**given: Any) -> Iterator[None]:
            monkeypatch.setattr(db, "atomic", atomic)
            NodeL1Tools(world.node.settings, world.node.platform_chain).mark_deleted(
                world.subnet_id
            )
            with atomic(**given):
                yield

        monkeypatch.setattr(db, "atomic", late)

    return arm


@pytest.mark.parametrize("genesis", [None, b"{"], ids=["usable", "refused"])
def test_a_chain_that_is_deleted_while_it_begins_does_not_run(
    world: World,
    genesis: bytes | None,
    deleted_meanwhile: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chains = world.node.subnet_chains
    record = chains._record

    def late(row: rows.SubnetChainRow) -> bool:
        deleted_meanwhile()
        return record(row)

    monkeypatch.setattr(chains, "_record", late)
    gone = world.create(genesis)

    assert world.row(gone).state == rows.DELETED
    assert str(gone) not in world.node.evm_chains
    assert gone not in world.node.refused_chains
    assert why_not(world.node.platform_chain, str(gone)) == "it was deleted on this node"
    monkeypatch.undo()
    world.node.subnet_chains.look()
    assert world.row(gone).state == rows.DELETED


def test_an_obstacle_does_not_bring_a_deleted_chain_back(
    world: World, deleted_meanwhile: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = world.create()
    chain = world.chain(gone)
    deleted_meanwhile()

    chain_obstacles._write(world.node.database, chain, BlockObstacle("stuck"))

    row = world.row(gone)
    assert (row.state, row.reason) == (rows.DELETED, "it was deleted on this node")


def test_the_state_of_a_deleted_chain_is_final(world: World) -> None:
    gone = world.create()
    before = world.row(gone)
    db = world.node.database
    NodeL1Tools(world.node.settings, world.node.platform_chain).mark_deleted(world.subnet_id)

    with db.atomic():
        assert not rows.record(db, before)
        assert not rows.note_reason(db, gone, "stuck")

    assert world.row(gone).state == rows.DELETED


@pytest.mark.sqlite_only
def test_a_deletion_waits_for_a_process_that_only_looks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = NodeL1Tools(world.node.settings, world.node.platform_chain)
    path = world.node.settings.common.directory / "l1.lock"
    with path.open("w") as probe:
        fcntl.flock(probe, fcntl.LOCK_SH)
        assert not tools.is_busy(), "two may look together"
        waits = SimpleNamespace(
            monotonic=time.monotonic, sleep=lambda _: fcntl.flock(probe, fcntl.LOCK_UN)
        )
        monkeypatch.setattr(l1_tools, "time", waits)
        with tools.alone():
            assert tools.is_busy()
            with pytest.raises(AnotherAtWork), tools.alone():
                pass
    assert not tools.is_busy()
