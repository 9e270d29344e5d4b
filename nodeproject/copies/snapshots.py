"""Saving, restoring and deleting named snapshots of this node, also while it runs.

A snapshot has the rows of the chains of subnets too. A chain that was created later has no rows after the restoration, and
ends in each process that runs it (`startup.subnet_chains`); the database of a chain that is missing here is made.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks as cchain_blocks
from cchain_app.services.rewinding import announce_rewind
from cchain_app.store.subnet_chains import rows
from chaindb import clock, followers, generation
from chaindb.chains import C_CHAIN, is_left_out
from chaindb.database import Database
from chaindb.snapshots.port import (
    Copies,
    FurtherDatabase,
    SnapshotReason,
    SnapshotRefused,
    UnreadableSnapshot,
    verified,
)
from chaindb.snapshots.sqlite import SqliteCopies
from network_app import selectors as network
from network_app.node import NodeNetwork
from nodeproject.copies import tables
from nodeproject.copies.snapshot_manifest import (
    FORMAT,
    Head,
    NodeSnapshotReason,
    SnapshotManifest,
    evm_head,
    heads_of,
)
from nodeproject.settings.node import NodeSettings
from nodeproject.startup import chain_databases
from platform_app import notifications
from platform_app.chain import PlatformChain
from platform_app.memory.answers import MAX_AGE
from primitives.cb58 import Cb58Error
from primitives.ids import ID, IdError
from primitives.networks import LOCAL

_log: Final = logging.getLogger(__name__)


class NamedSnapshot(NamedTuple):
    """An existing snapshot."""

    manifest: SnapshotManifest
    size: int
    """Its size in bytes."""


class DamagedSnapshot(NamedTuple):
    """An entry among the snapshots that cannot be restored."""

    name: str
    reason: str


class RestoreResult(NamedTuple):
    """The result of restoring a snapshot."""

    snapshot: NamedSnapshot
    behind: list[int]
    """IDs of this node's processes that have not noticed the restoration within `followers.PATIENCE`."""


class _Unfinished(msgspec.Struct, frozen=True):
    """A restoration that is being committed, one database after the other."""

    name: str
    """That of the snapshot."""
    generation: int
    """That of the rows in each database after its commit."""
    blockchains: list[str]
    """The IDs of the chains of subnets with databases of their own."""

    def to_text(self) -> str:
        """Return it as JSON."""
        return msgspec.json.encode(self).decode()


class _ChainsChanged(Exception):
    """A chain of a subnet began while the databases to copy were looked for."""


class Snapshots:
    """The named snapshots of one node.

    Args:
        settings: The node's settings.
        platform: The node's P-Chain.
        evm: The node's C-Chain, in the same database.
        network: The node's part in its peer network.
        subnet_chains: Returns the chains of subnets that this process runs.
    """

    def __init__(
        self,
        settings: NodeSettings,
        platform: PlatformChain,
        evm: EvmChain,
        network: NodeNetwork,
        subnet_chains: Callable[[], Iterable[EvmChain]] = tuple,
    ) -> None:
        self._settings = settings
        self._platform = platform
        self._evm = evm
        self._network = network
        self._subnet_chains = subnet_chains
        self._db = platform.db

    def all(self) -> list[NamedSnapshot | DamagedSnapshot]:
        """Return all existing snapshots, by name.

        Raises:
            SnapshotRefused: The network is not the local one.
        """
        self._verify_local()
        return [self._read(name) for name in self._copies().names()]

    def save(self, name: str, *, replace: bool = False) -> NamedSnapshot:
        """Save the node's state at this moment.

        Args:
            name: 1 to 40 of a-z, 0-9, - and _.
            replace: Whether to replace a snapshot of the same name.

        Raises:
            SnapshotRefused: A subclass; nothing is saved, and existing snapshots are unchanged.
        """
        self._verify_local()
        copies = self._copies()
        verified(name)
        if (left := self._unfinished(copies)) is not None:
            raise SnapshotRefused(NodeSnapshotReason.UNFINISHED, name=left.name)
        while True:
            try:
                self._save(copies, name, replace=replace)
            except _ChainsChanged:
                continue
            return self._found(name)

    def _save(self, copies: Copies, name: str, *, replace: bool) -> None:
        databases = {
            blockchain_id: chain_databases.open_database(blockchain_id, self._settings)
            for blockchain_id in self._with_databases()
        }
        heads: dict[str, Head] = {}

        def look(alias: str, db: Database) -> None:
            if (head := evm_head(db)) is not None:
                heads[alias] = head

        def describe() -> str:
            if self._with_databases() != databases.keys():
                raise _ChainsChanged
            chains = {
                str(blockchain_id): heads[db.alias]
                for blockchain_id, db in databases.items()
                if db.alias in heads
            }
            return self._describe(name, chains).to_text()

        copies.save(
            name,
            tables.SNAPSHOT.names(),
            describe,
            replace=replace,
            further=tuple(databases.values()),
            look=look,
        )

    def restore(self, name: str) -> RestoreResult:
        """Restore the node's state from a snapshot, and wait until all its processes have noticed.

        The clock's offset is restored too. Wall time has advanced in the meantime, so the clock is not behind its
        time at the save, and no block of the snapshot is in its future.

        Raises:
            SnapshotRefused: A subclass; nothing is restored, and the node is unchanged.
        """
        self._verify_local()
        self._verify_alone()
        return self._restore(self._found(name))

    def finish(self) -> None:
        """Restore the chains of subnets that a killed process has not restored with the rest. For the start.

        If that is impossible, for example because another version starts, the log says so and the node starts.
        """
        if self._settings.common.network_id != LOCAL:
            return
        copies = self._copies()
        left = self._unfinished(copies)
        if left is None:
            return
        name = left.name
        _log.warning("the restoration of the snapshot %s was interrupted, and continues", name)
        try:
            manifest = self._found(name).manifest
            self._verify_fits(manifest)
            copied = _ids(manifest)
            others = [
                FurtherDatabase(self._made(blockchain_id), blockchain_id in copied)
                for blockchain_id in self._not_restored(left)
            ]
            assert isinstance(copies, SqliteCopies), "others have nothing unfinished"
            copies.finish(
                name,
                tables.SNAPSHOT.names(),
                others,
                lambda db: generation.reach(db, left.generation),
            )
        except SnapshotRefused as error:
            _log.error(
                "the restoration of the snapshot %s cannot continue, and its chains do not fit together: %s",
                name,
                error,
            )

    def _unfinished(self, copies: Copies) -> _Unfinished | None:
        """Return the unfinished restoration, which has not reached all chains of subnets; None without one."""
        text = copies.unfinished() if isinstance(copies, SqliteCopies) else None
        if text is None:
            return None
        left = msgspec.json.decode(text, type=_Unfinished)
        # The node's own database is committed first: if it was not, nothing has happened.
        is_begun = generation.number(self._db) >= left.generation
        return left if is_begun and self._not_restored(left) else None

    def _not_restored(self, left: _Unfinished) -> list[ID]:
        every = map(ID.parse, left.blockchains)
        return [one for one in every if generation.number(self._made(one)) < left.generation]

    def _made(self, blockchain_id: ID) -> Database:
        return chain_databases.make_database(blockchain_id, self._settings)

    def _restore(self, snapshot: NamedSnapshot) -> RestoreResult:
        manifest, number = snapshot.manifest, 0
        self._verify_fits(manifest)  # before databases are made
        copied = _ids(manifest)
        for blockchain_id in copied.keys() | self._with_databases():
            chain_databases.make_database(blockchain_id, self._settings)

        def begin() -> None:
            nonlocal number
            self._verify_fits(manifest)
            number = generation.advance(self._db)

        known: set[ID] = set()

        def further() -> list[FurtherDatabase]:
            known.update(copied.keys() | self._with_databases())
            return [
                FurtherDatabase(
                    chain_databases.open_database(blockchain_id, self._settings),
                    blockchain_id in copied,
                )
                for blockchain_id in sorted(known)
            ]

        with self._platform.answers.changing():
            self._copies().restore(
                manifest.name,
                tables.SNAPSHOT.names(),
                begin,
                further=further,
                also_in=lambda db: generation.reach(db, number),
                mark=lambda: _Unfinished(manifest.name, number, sorted(map(str, known))).to_text(),
            )
        self._announce(copied)
        time.sleep(MAX_AGE)  # cached answers of the P-Chain expire in this time
        behind = followers.wait_for_all(
            followers.directory_of(self._settings.common.directory), number
        )
        return RestoreResult(snapshot, behind)

    def _announce(self, restored: Collection[ID]) -> None:
        """Move this process to the rows, and tell the others."""
        if not is_left_out(C_CHAIN):
            announce_rewind(self._evm, cchain_blocks.catch_up(self._evm))
        for chain in tuple(self._subnet_chains()):
            if chain.blockchain_id in restored:
                announce_rewind(chain, cchain_blocks.catch_up(chain))
        tip = self._platform.tip()
        head = {"type": notifications.HEAD, "height": tip.height, "block_id": bytes(tip.block_id)}
        self._platform.events.send(self._platform.name, head)
        notifications.blockchains_changed(self._platform)

    def delete(self, name: str) -> None:
        """Delete a snapshot.

        Raises:
            SnapshotRefused: A subclass; nothing is deleted.
        """
        self._verify_local()
        copies = self._copies()
        left = self._unfinished(copies)
        if left is not None and left.name == verified(name):
            raise SnapshotRefused(NodeSnapshotReason.UNFINISHED, name=name)
        copies.delete(name)

    def _found(self, name: str) -> NamedSnapshot:
        stored = self._copies().read(verified(name))
        try:
            return NamedSnapshot(SnapshotManifest.of_text(stored.description), stored.size)
        except msgspec.DecodeError as error:
            raise UnreadableSnapshot(
                SnapshotReason.UNREADABLE_SNAPSHOT, name=name, cause=error
            ) from error

    def _read(self, name: str) -> NamedSnapshot | DamagedSnapshot:
        try:
            return self._found(name)
        except UnreadableSnapshot as error:
            return DamagedSnapshot(name, str(error))

    def _copies(self) -> Copies:
        if self._db.connection.vendor == "postgresql":
            # Imported here because a node on SQLite does not need it.
            from chaindb.snapshots.postgresql import PostgresqlCopies

            return PostgresqlCopies(self._db, tables.HELD_FIRST)
        return SqliteCopies(self._db, self._settings.common.directory / "snapshots")

    def _with_databases(self) -> set[ID]:
        """Return the chains of subnets that have a database here, as seen by this thread's transaction."""
        return {row.blockchain_id for row in rows(self._db) if row.database}

    def _describe(self, name: str, chains: Mapping[str, Head]) -> SnapshotManifest:
        """Return the manifest of a snapshot, as seen by this thread's transaction.

        Raises:
            SnapshotRefused: There is no chain.
        """
        found = heads_of(self._db)
        if found is None:
            raise SnapshotRefused(NodeSnapshotReason.NO_CHAIN)
        return SnapshotManifest(
            name=name,
            saved_at=int(time.time()),
            network_id=found.network_id,
            chain_id=found.chain_id,
            pchain=found.pchain,
            cchain=found.cchain,
            clock_offset=clock.offset(),
            migrations=tables.SNAPSHOT.migrations(self._db),
            chains=dict(chains),
        )

    def _verify_fits(self, saved: SnapshotManifest) -> None:
        self._verify_has_chains(saved)
        here = self._describe(saved.name, {})
        differing = tables.first_difference(saved.migrations, here.migrations)
        if differing is not None:
            raise SnapshotRefused(
                NodeSnapshotReason.OTHER_MIGRATIONS, name=saved.name, migration=differing
            )
        facts: tuple[tuple[str, Callable[[SnapshotManifest], object]], ...] = (
            ("network", lambda one: one.network_id),
            ("P-Chain's genesis", lambda one: one.pchain.genesis),
            ("C-Chain's genesis block", lambda one: one.cchain and one.cchain.genesis),
            ("C-Chain's chain ID", lambda one: one.chain_id),
        )
        for what, of in facts:
            if of(saved) != of(here):
                raise SnapshotRefused(
                    NodeSnapshotReason.OTHER_CHAIN,
                    name=saved.name,
                    what=what,
                    saved=of(saved),
                    here=of(here),
                )

    def _verify_has_chains(self, saved: SnapshotManifest) -> None:
        """Refuse to take the P-Chain back below blocks of chains that the snapshot could not contain."""
        names = [row.name or str(row.blockchain_id) for row in rows(self._db) if row.database]
        if saved.format < FORMAT and names:
            raise SnapshotRefused(
                NodeSnapshotReason.WITHOUT_SUBNET_CHAINS, name=saved.name, chains=", ".join(names)
            )

    def _verify_local(self) -> None:
        if self._settings.common.network_id != LOCAL:
            raise SnapshotRefused(
                NodeSnapshotReason.SNAPSHOTS_NOT_AVAILABLE,
                network_id=self._settings.common.network_id,
            )

    def _verify_alone(self) -> None:
        settings = self._settings
        if settings.common.votes:
            raise SnapshotRefused(
                NodeSnapshotReason.NOT_ALONE, others="here the validators vote (NODE_CONSENSUS)"
            )
        if settings.common.bootstrap:
            raise SnapshotRefused(
                NodeSnapshotReason.NOT_ALONE, others="this node follows others (NODE_BOOTSTRAP)"
            )
        if not self._network.producer.is_own:
            raise SnapshotRefused(
                NodeSnapshotReason.NOT_ALONE, others="another node makes the blocks (NODE_PRODUCER)"
            )
        if network.peers():
            raise SnapshotRefused(NodeSnapshotReason.NOT_ALONE, others="peers are connected")


def _ids(manifest: SnapshotManifest) -> dict[ID, Head]:
    """Return the heads of the chains of subnets in a snapshot.

    Raises:
        UnreadableSnapshot: A chain has no blockchain ID.
    """
    try:
        return {ID.parse(text): head for text, head in manifest.chains.items()}
    except (Cb58Error, IdError) as error:
        raise UnreadableSnapshot(
            SnapshotReason.UNREADABLE_SNAPSHOT, name=manifest.name, cause=error
        ) from error
