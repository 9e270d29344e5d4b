"""Named snapshots and backups contain the chains of subnets; a snapshot takes them back together with the P-Chain."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cchain_app.selectors import blocks
from cchain_app.store import subnet_chains as rows
from chaindb import generation
from chaindb.connections import in_thread
from chaindb.database import Database
from chaindb.snapshots import sqlite
from chaindb.snapshots.port import FurtherDatabase, SnapshotRefused, name_in_copy
from nodeproject.copies import backups, chain_copies, snapshots, tables
from nodeproject.copies.backup_archive import reading
from nodeproject.copies.snapshot_manifest import NodeSnapshotReason, SnapshotManifest
from nodeproject.copies.snapshots import NamedSnapshot
from nodeproject.startup.chain_databases import alias_of, file_of, upgrade_file_of
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import ID
from tests.builders.node_settings import updated
from tests.builders.reasons import raises
from tests.builders.subnet_evm import subnet_genesis
from tests.integration.nodeproject.test_subnet_chains import (
    CHAIN_ID,
    SUBNET_EVM_ID,
    World,
    node,
    world,
)
from tests.integration.nodeproject.test_third_chain import (
    application,
    end,
    mine,
    over_http,
    send,
    transfer,
)
from tests.integration.patience import PatientCommunicator

__all__ = ["application", "node", "world"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.node_settings(mining="manual", track_subnets=("all",)),
]


@pytest.fixture(autouse=True)
def no_snapshots(world: World) -> Iterator[None]:
    """Delete the snapshots that a test has saved; on PostgreSQL they are in the database that tests share."""
    yield
    for found in world.node.snapshots.all():
        assert isinstance(found, NamedSnapshot)
        world.node.snapshots.delete(found.manifest.name)


def restore(world: World, name: str) -> None:
    """Restore a snapshot, and let the node and the P-Chain's wallet see it."""
    assert world.node.snapshots.restore(name).behind == []
    world.node.subnet_chains.look()
    world.pchain.forget_spent()


def pay(world: World, blockchain_id: ID, nonce: int = 0, chain_id: int = CHAIN_ID) -> int:
    """Mine a transfer on a chain; return its height."""
    name = str(blockchain_id)
    send(world.node, name, transfer(nonce, chain_id=chain_id))
    return mine(world.node, name)


def content(world: World, blockchain_id: ID) -> dict[str, list[Any]]:
    """Return the rows of a chain that a snapshot contains."""
    db = world.chain(blockchain_id).db
    return {table.name: list(table.read(db)) for table in chain_copies.tables_with_rows(db)}


def test_a_chain_goes_back_to_a_snapshot_and_on(world: World) -> None:
    dex, game = world.create(), world.create(subnet_genesis(CHAIN_ID + 1), "game")
    assert pay(world, dex) == 1
    send(world.node, str(dex), transfer(1, chain_id=CHAIN_ID))  # pending
    saved = world.node.snapshots.save("a")
    assert {name: head.height for name, head in saved.manifest.chains.items()} == {
        str(dex): 1, str(game): 0,
    }  # fmt: skip
    before = content(world, dex)
    assert mine(world.node, str(dex)) == 2
    assert pay(world, game, chain_id=CHAIN_ID + 1) == 1
    assert content(world, dex) != before

    restore(world, "a")

    assert content(world, dex) == before
    assert blocks.head(world.chain(dex)).number == 1
    assert blocks.head(world.chain(game)).number == 0
    number = generation.number(world.node.database)
    assert generation.number(world.chain(dex).db) == number > 0
    assert mine(world.node, str(dex)) == 2, "the pending transaction is pending again"
    assert len(blocks.head(world.chain(dex)).transactions) == 1


async def test_a_chain_that_was_created_later_ends_and_may_be_created_again(
    application: Any, world: World
) -> None:
    await in_thread(world.node.snapshots.save, "before")
    way = "/ext/bc/dex/rpc"

    def live() -> ID:
        made = world.pchain.make(
            CreateChainTx,
            subnet_id=world.subnet_id,
            chain_name="dex",
            vm_id=SUBNET_EVM_ID,
            fx_ids=(),
            genesis_data=subnet_genesis(CHAIN_ID),
        )
        blockchain_id = world.pchain.do(made).tx_id
        world.node.subnet_chains.look()
        assert pay(world, blockchain_id) == 1
        return blockchain_id

    first = await in_thread(live)
    assert await over_http(application, way, "eth_blockNumber") == "0x1"
    socket = PatientCommunicator(application, "/ext/bc/dex/ws")
    assert (await socket.connect())[0]
    await in_thread(restore, world, "before")
    assert await socket.receive_output() == {
        "type": "websocket.close",
        "code": 1001,
        "reason": f"chain {first} has ended",
    }

    assert str(first) not in world.node.evm_chains
    assert world.node.chains.find("dex") is None
    assert str(first) not in world.node.network.chains
    assert not [
        path for path in world.node.endpoints.table if str(first) in path or "/dex/" in path
    ]
    with pytest.raises(AssertionError, match="it has ended, because the P-Chain has gone back"):
        await over_http(application, way, "eth_blockNumber")
    assert (await PatientCommunicator(application, "/ext/bc/dex/ws").connect())[0] is False
    assert str(first) not in world.node.observation.reporter.health().checks

    again = await in_thread(live)
    assert again == first, "the same transaction"
    assert await over_http(application, way, "eth_blockNumber") == "0x1"
    assert (await in_thread(world.row, again)).state == rows.RUNNING
    await end(application)


def test_a_chain_that_is_created_again_before_anybody_looked_begins_anew(world: World) -> None:
    world.node.snapshots.save("before")
    first = world.create()
    pay(world, first)
    old = world.chain(first)
    world.node.snapshots.restore("before")
    world.pchain.forget_spent()
    assert world.create() == first
    assert world.chain(first) is not old
    assert pay(world, first) == 1


def test_a_chain_that_is_missing_here_begins_with_the_rows_of_the_snapshot(world: World) -> None:
    world.node.snapshots.save("before")
    dex = world.create()
    pay(world, dex)
    world.node.snapshots.save("with")
    restore(world, "before")
    if world.node.database.connection.vendor == "sqlite":
        Database(alias_of(dex)).connection.close()
        for path in file_of(dex, world.node.settings).parent.glob(f"{dex}.sqlite3*"):
            path.unlink()

    restore(world, "with")

    assert blocks.head(world.chain(dex)).number == 1
    assert pay(world, dex, 1) == 2


class Killed(BaseException):
    """The end of a process."""


def killed_before_commit(world: World, monkeypatch: pytest.MonkeyPatch, alias: str) -> None:
    """Restore the snapshot "a" in a process that is killed before it commits in a database."""
    writing = sqlite._writing

    @contextmanager
    def dying(db: Database, path: Path) -> Iterator[None]:
        with writing(db, path):
            yield
            if db.alias == alias:
                raise Killed

    with monkeypatch.context() as killed:
        killed.setattr(sqlite, "_writing", dying)
        with pytest.raises(Killed):
            world.node.snapshots.restore("a")


@pytest.mark.sqlite_only  # PostgreSQL commits all schemas together
def test_an_interrupted_restoration_is_finished(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    dex = world.create()
    world.node.snapshots.save("a")
    pay(world, dex)
    killed_before_commit(world, monkeypatch, alias_of(dex))
    game = world.create(subnet_genesis(CHAIN_ID + 1), "game")
    pay(world, game, chain_id=CHAIN_ID + 1)
    assert blocks.catch_up(world.chain(dex)).number == 1
    words = "the snapshot a was not restored to the end"
    with raises(NodeSnapshotReason.UNFINISHED, kind=SnapshotRefused, match=words):
        world.node.snapshots.save("b")
    with raises(NodeSnapshotReason.UNFINISHED, kind=SnapshotRefused, match=words):
        world.node.snapshots.delete("a")
    migrations = tables.SNAPSHOT.migrations
    with monkeypatch.context() as upgraded:
        upgraded.setattr(tables.TableSelection, "migrations", lambda _, db: (*migrations(db), "a"))
        world.node.snapshots.finish()
    assert "cannot continue, and its chains do not fit together: the snapshot a" in caplog.text
    assert blocks.catch_up(world.chain(dex)).number == 1

    world.node.snapshots.finish()

    assert blocks.catch_up(world.chain(dex)).number == 0
    assert blocks.catch_up(world.chain(game)).number == 1, "it was created later"
    world.node.snapshots.save("b")
    pay(world, dex)
    world.node.snapshots.finish()  # does nothing
    assert blocks.catch_up(world.chain(dex)).number == 1


@pytest.mark.sqlite_only  # likewise
def test_what_happens_after_an_interrupted_restoration_is_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    dex = world.create()
    world.node.snapshots.save("a")
    pay(world, dex)
    killed_before_commit(world, monkeypatch, "default")
    world.node.snapshots.finish()
    assert blocks.catch_up(world.chain(dex)).number == 1, "nothing was restored"

    class Late(BaseException):
        pass

    def killed(self: Database) -> None:
        raise Late

    with monkeypatch.context() as late:
        late.setattr(Database, "flush", killed)
        with pytest.raises(Late):
            world.node.snapshots.restore("a")
    # The kill may come before or after the commit of the chain; `finish` completes the restoration in both cases.
    world.node.snapshots.finish()
    assert blocks.catch_up(world.chain(dex)).number == 0
    pay(world, dex)
    world.node.snapshots.finish()
    assert blocks.catch_up(world.chain(dex)).number == 1


def test_a_snapshot_without_chains_of_subnets_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.node.snapshots.save("old")
    world.create()
    found = SnapshotManifest.of_text

    def earlier(text: str) -> SnapshotManifest:
        return msgspec.structs.replace(found(text), format=1)

    monkeypatch.setattr(snapshots.SnapshotManifest, "of_text", earlier)
    words = r"was saved by an earlier version, without chains of subnets, and this node has dex"
    with raises(NodeSnapshotReason.WITHOUT_SUBNET_CHAINS, kind=SnapshotRefused, match=words):
        world.node.snapshots.restore("old")


def test_a_chain_that_begins_while_a_snapshot_is_saved_is_in_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[ID] = []
    looked = snapshots.Snapshots._with_databases

    def late(self: snapshots.Snapshots) -> set[ID]:
        before = looked(self)
        if not found:
            found.append(world.create())
        return before

    monkeypatch.setattr(snapshots.Snapshots, "_with_databases", late)
    saved = world.node.snapshots.save("a")
    assert [*saved.manifest.chains] == [str(found[0])]


@pytest.mark.sqlite_only  # development methods
def test_a_chain_has_snapshots_of_its_own(world: World) -> None:
    dex = world.create()
    pay(world, dex)

    def ask(method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        dispatcher = world.node.endpoints.evm[str(dex)].dispatcher
        return json.loads(dispatcher.answer(json.dumps(body).encode()) or b"")["result"]

    number = ask("evm_snapshot")
    world.node.snapshots.save("a")
    assert pay(world, dex, 1) == 2
    restore(world, "a")
    assert pay(world, dex, 1) == 2
    assert ask("evm_revert", number) is True
    assert ask("eth_blockNumber") == "0x1"
    assert pay(world, dex, 1) == 2


def test_names_of_tables_in_a_copy_fit(world: World) -> None:
    alias = alias_of(world.subnet_id)
    assert max(len(name_in_copy(alias, table)) for table in tables.SNAPSHOT.names()) <= 63
    assert FurtherDatabase(Database(alias), is_copied=True).db.alias == alias


def test_a_backup_has_the_upgrade_files(world: World, tmp_path: Path) -> None:
    dex, own = world.create(), world.node
    upgrade_file_of(dex, own.settings).parent.mkdir(exist_ok=True)
    upgrade_file_of(dex, own.settings).write_text('{"precompileUpgrades": []}')
    saved = tmp_path / "node.backup"
    try:
        backups.backup(own.settings, own.database, saved, keys=False)
    finally:
        upgrade_file_of(dex, own.settings).unlink()
    elsewhere = updated(own.settings, data_dir=str(tmp_path / "other"))
    with reading(saved) as archive:
        found = backups._saved_upgrade_files(archive.manifest, elsewhere)
        assert found == {f"upgrades/{dex}": upgrade_file_of(dex, elsewhere)}
        assert archive.files(found) == {f"upgrades/{dex}": b'{"precompileUpgrades": []}'}
