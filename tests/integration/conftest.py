"""A chain on a real database, accessed like clients do, and recomputed after each test.

`chain` is for tests of one thread: everything happens in one transaction that is rolled back.
`shared_chain` commits, so that other threads and connections see it; it costs more.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.core.cache import caches
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import TestCase, TransactionTestCase

from cchain_app.apps import evm_chain, evm_runtime
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.services import transactions
from cchain_app.services.genesis import load_genesis
from cchain_app.services.runtime import EvmRuntime
from cchain_app.txs.transaction import Transaction
from chaindb import clock
from chaindb.database import Database
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from nodeproject.startup import identity
from primitives.evm import Hash
from primitives.node_identity import IdentityFiles
from tests.builders.evm_chains import produce
from tests.builders.platform import NOW
from tests.builders.process import restart_node
from tests.builders.transactions import signed
from tests.conformance.openrpc import assert_conforms
from tests.integration.emptied import empty_databases
from tests.integration.recomputed import assert_recomputes

Rpc = Callable[..., Any]
"""A function of a method and its params; returns the result or raises `JsonRpcError`."""


class Chain:
    """A chain whose blocks are made on demand, and whose clock is controlled by the test."""

    def __init__(self) -> None:
        # The time of the P-Chain's tests, not the wall time: equal chains of tests are then recomputed only once.
        with patch.object(clock, "now", return_value=NOW):
            self.genesis = load_genesis(self.evm)
        self.now = self.genesis.header.timestamp
        self.nonce = 0
        """The next nonce of the well-known key's account."""

    @property
    def evm(self) -> EvmChain:
        """The chain of this process; a test that changes settings gets another object."""
        return evm_chain()

    @property
    def runtime(self) -> EvmRuntime:
        """The same as a running chain."""
        return evm_runtime()

    def send(self, *sent: Transaction) -> list[Hash]:
        """Put transactions into the pool; all of them must be accepted."""
        # Blocks are requested on commit, but the outermost transaction of a test never commits.
        with TestCase.captureOnCommitCallbacks(execute=True):
            outcomes = transactions.submit(evm_runtime(), [item.raw for item in sent])
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        return [outcome for outcome in outcomes if not isinstance(outcome, Exception)]

    def mine(self) -> AcceptedBlock:
        """Make a block one second later from the transactions in the pool."""
        self.now += 1
        block = produce(self.runtime, now=self.now, allow_empty=True)
        assert block is not None
        return block

    def make(self, **fields: Any) -> Transaction:
        """Return the next transaction of the well-known key's account, without sending it."""
        made = signed(nonce=self.nonce, **fields)
        self.nonce += 1
        return made

    def do(self, **fields: Any) -> tuple[Transaction, AcceptedBlock]:
        """Send the next transaction and make a block with it."""
        made = self.make(**fields)
        self.send(made)
        return made, self.mine()

    def forget(self) -> None:
        """Empty the cache, as after a restart of the process."""
        forget_memory()


def forget_memory() -> None:
    """Empty this process's cache of the C-Chain."""
    restart_node()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let tests make blocks on demand, unless they set another mining mode themselves."""
    for item in items:
        if {"chain", "shared_chain"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.node_settings(mining="manual"), append=True)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The test database; sessions that are still connected after the tests are terminated.

    A thread that outlives its test would prevent PostgreSQL from dropping the database.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TransactionTestCase, "_fixture_teardown", empty_databases)
        yield
    with django_db_blocker.unblock():
        for connection in connections.all(initialized_only=True):
            if connection.vendor == "postgresql":
                end_sessions(connection)


def end_sessions(connection: BaseDatabaseWrapper) -> None:
    """Terminate every session of a PostgreSQL database, including those of this process."""
    connection.close()
    connection.close_pool()
    with connection._nodb_cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            [connection.settings_dict["NAME"]],
        )


@pytest.fixture(scope="session")
def own_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a node's identity files: creating them takes longer than most tests."""
    directory = tmp_path_factory.mktemp("node")
    identity.make_files(directory, IdentityFiles.below(directory), NOW)
    return directory


@pytest.fixture
def data_dir(own_files: Path, tmp_path: Path) -> str:
    """A directory for a test's node, with a copy of those files."""
    return str(shutil.copytree(own_files, tmp_path, dirs_exist_ok=True))


@pytest.fixture
def node_settings(node_settings: Any) -> Iterator[Any]:
    """The node's settings, with empty caches (which the node's processes share, like the rows)."""
    empty_caches()
    yield node_settings
    empty_caches()


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[Database]:
    """The databases whose write lock was acquired, one entry per acquisition."""
    found, turn = [], Database.turn

    @contextmanager
    def noted(db: Database) -> Iterator[None]:
        found.append(db)
        with turn(db):
            yield

    monkeypatch.setattr(Database, "turn", noted)
    return found


def empty_caches() -> None:
    """Clear every Django cache that was used."""
    for cache in caches.all(initialized_only=True):
        cache.clear()


@pytest.fixture
def chain(db: None, node_settings: Any) -> Iterator[Chain]:
    """The local network's chain; every block that the test makes is recomputed at the end."""
    made = Chain()
    evm = made.evm
    yield made
    assert_recomputes(evm)


@pytest.fixture
def shared_chain(transactional_db: None, node_settings: Any) -> Iterator[Chain]:
    """The same, committed: other threads see it."""
    made = Chain()
    evm = made.evm
    yield made
    assert_recomputes(evm)


@pytest.fixture
def rpc(node_settings: Any) -> Rpc:
    """Call the dispatcher, and validate every result against the published schema."""

    def ask(method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = this_node().endpoints.cchain.dispatcher.answer(json.dumps(body).encode())
        assert answer is not None
        shown = json.loads(answer)
        if "error" in shown:
            raise JsonRpcError(**shown["error"])
        assert_conforms(method, shown["result"])
        return shown["result"]

    return ask
