"""A deleted L1: its chains end in a running node, and do not begin at the next start; others continue."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from explorer_app.managers.ports import CallRefused
from explorer_app.selectors.chains import why_not
from explorer_app.services import l1_deletion
from explorer_app.services.l1_deletion import NotDeleted
from nodeproject.startup.chain_databases import alias_of, file_of
from nodeproject.web.l1_tools import NodeL1Tools
from primitives.ids import ID, PRIMARY_NETWORK_ID
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

__all__ = ["PChain", "application", "client", "shared_pchain", "world"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.node_settings(mining="manual", track_subnets=("all",)),
]


class QuietTools(NodeL1Tools):
    """Tools of a node that serves no requests, and looks at its chains when it is called."""

    def __init__(self, world: World, *, looks: bool = True) -> None:
        super().__init__(world.node.settings, world.node.platform_chain)
        self._world = world
        self._looks = looks

    def call(self, path: str, method: str, *params: object) -> object:
        if self._looks:
            self._world.node.subnet_chains.look()
        if any(path == f"/ext/bc/{name}/rpc" for name in self._world.node.evm_chains):
            return "0x1"
        raise CallRefused("no answer")


def delete(world: World, subnet_id: ID, *, looks: bool = True) -> list[ID]:
    tools = QuietTools(world, looks=looks)
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

    with pytest.raises(NotDeleted, match=f"the node still runs {gone}, which it will end at its"):
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
