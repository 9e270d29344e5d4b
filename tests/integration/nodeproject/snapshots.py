"""A node with both chains for tests of snapshots: actions that change rows, and all rows to compare."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection

from cchain_app.selectors import pool
from chaindb import clock
from nodeproject.apps import this_node
from nodeproject.copies import tables
from nodeproject.copies.snapshots import RestoreResult, Snapshots
from platform_app.apps import platform_chain
from platform_app.services import keystore
from tests.builders import puppet
from tests.builders.evm_chains import produce
from tests.builders.node_settings import updated
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.conftest import Chain
from tests.integration.explorer_app.token_chain import NOBODY, TokenChain, erc20, erc721
from tests.integration.platform_app.conftest import PChain

Rows = dict[str, list[str]]


def rows() -> Rows:
    """Return all rows that a snapshot contains, by table."""
    found = {}
    with connection.cursor() as cursor:
        for table in tables.SNAPSHOT.names():
            cursor.execute(f'SELECT * FROM "{table}"')
            found[table] = sorted(map(repr, map(_plain, cursor.fetchall())))
    return found


def _plain(row: tuple[Any, ...]) -> list[Any]:
    return [bytes(item) if isinstance(item, memoryview) else item for item in row]


class Scene:
    """A node whose blocks have outer blocks, and an account that uses it."""

    def __init__(self, chain: Chain, pchain: PChain) -> None:
        self.chain = chain
        self.pchain = pchain
        this_node().network.connect_consensus()

    @property
    def snapshots(self) -> Snapshots:
        """The named snapshots of this process's node."""
        return this_node().snapshots

    @property
    def head(self) -> int:
        """The C-Chain's height in this process's cache."""
        head = self.chain.evm.memory.blocks.head
        assert head is not None
        return head.number

    def restore(self, name: str) -> RestoreResult:
        """Restore a snapshot; the sender continues from its nonce there."""
        restored = self.snapshots.restore(name)
        self.chain.nonce = pool.next_nonce(self.chain.evm, SENDER)
        self.pchain.forget_spent()
        return restored

    def mine(self) -> None:
        """Make a block of the C-Chain from the pending transactions."""
        self.chain.now += 1
        assert produce(self.chain.runtime, now=self.chain.now, allow_empty=True) is not None

    def send(self) -> None:
        """Put a transaction into the C-Chain's pool."""
        self.chain.send(self.chain.make())

    def use_tokens(self) -> None:
        """Deploy a coin and a collection, mint both, and index them: two blocks of two transactions each."""
        tokens = TokenChain(self.chain)
        coin, cats = tokens.deploy_many([puppet.of_erc20(), puppet.of_erc721()])
        minted = (coin, erc20(NOBODY, RECIPIENT, 100)), (cats, erc721(NOBODY, RECIPIENT, 1))
        tokens.call_each(minted)
        self.index_tokens()

    def index_tokens(self) -> None:
        """Run the token indexer until it reaches the head."""
        TokenChain(self.chain).index()

    def change_everything(self, name: str) -> None:
        """Change rows in all tables that a snapshot contains."""
        self.send()
        self.mine()
        self.send()  # stays pending
        self.pchain.do(self.pchain.make())
        self.pchain.issue(self.pchain.make())  # stays pending
        keystore.create_user(platform_chain(), name, "correct horse battery staple 7")
        keystore.create_address(platform_chain(), name, "correct horse battery staple 7")
        with platform_chain().db.atomic():
            clock.move(100)


def partial_files() -> list[Path]:
    """Return the files that unfinished copies leave behind, on SQLite."""
    return list((settings.NODE.common.directory / "snapshots").glob("*.partial*"))


@contextmanager
def with_settings(**changed: Any) -> Iterator[Snapshots]:
    """Yield the snapshots of this node under other settings, with the same rows."""
    node = this_node()
    yield Snapshots(
        updated(node.settings, **changed), node.platform_chain, node.evm_chain, node.network
    )
