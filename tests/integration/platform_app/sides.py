"""P-Chains with the same genesis on two databases: blocks accepted by one are accepted by the other."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connections

from chaindb.database import Database
from chainvm.port import BlockContext
from platform_app.apps import platform_chain, platform_runtime, use
from platform_app.blocks.block import Block
from platform_app.chain import PlatformChain
from platform_app.config import DAY, UNIT
from platform_app.services import mempool
from platform_app.services.runtime import PlatformRuntime
from platform_app.services.vm import PlatformVM
from platform_app.txs import staking
from platform_app.txs.base import Tx
from primitives.ids import ID
from primitives.settings import CommonSettings
from tests.builders import platform, platform_rows
from tests.builders.platform_random import FEE, KEY_OF, History, funded
from tests.builders.platform_replay import remembered
from tests.builders.platform_tables import OWN

ALIASES = ("default", "second")

Rows = dict[str, list[tuple[object, ...]]]


@dataclass
class Side:
    """A chain whose coins belong to known keys, and its VM."""

    runtime: PlatformRuntime
    written: list[ID] = field(default_factory=list)
    now: int = platform.NOW
    spent: int = 0
    """Number of genesis coins that tests have spent."""

    def __post_init__(self) -> None:
        self.genesis = self.on_chain(lambda: platform_rows.begin_with(funded()))

    @property
    def vm(self) -> PlatformVM:
        return self.runtime.vm

    @property
    def chain(self) -> PlatformChain:
        return self.runtime.chain

    def on_chain(self, work: Callable[[], Any]) -> Any:
        """Run a function with this chain as the process's chain."""
        before = platform_runtime()
        use(lambda: self.runtime)
        try:
            return work()
        finally:
            use(lambda: before)

    def history(self, seed: int = 1) -> History:
        """Return a generator of random transactions on the accepted state, for the first database only."""
        made = History(seed, self.on_chain(remembered))
        made.now = self.now
        return made

    def restart(self) -> None:
        """Clear everything that is only in memory."""
        self.runtime = self.another_process()

    def another_process(self) -> PlatformRuntime:
        """Return the same chain as an object of another process."""
        return quiet(self.chain.node, self.chain.db)

    def transfer(self, memo: bytes = b"", *, again: bool = False) -> Tx:
        """Return a transfer of the next coin of the genesis, or again of the last one."""
        self.spent += not again
        number = self.spent - 1
        owner = platform.ADDRESSES[number % 5]
        return platform.signed(
            inputs=platform.spend_all(platform.utxo(20_000 * UNIT, owner, number=number)),
            outputs=(platform.output(20_000 * UNIT - FEE, owner),),
            keys=[[KEY_OF[owner]]],
            memo=memo,
        )

    def staking(self, days: int = 2) -> Tx:
        """Return a transaction that makes a node a validator immediately."""
        history = self.history(self.spent)
        return history._new_validator(staking.AddValidatorTx, 0, self.now + days * DAY)

    def send(self, *txs: Tx) -> tuple[Tx, ...]:
        """Put transactions into the mempool; all of them must be accepted."""
        for outcome in mempool.issue(self.chain, txs, now=self.now):
            if isinstance(outcome, Exception):
                raise outcome
        return txs

    def build(self, on: Block | None = None) -> Block | None:
        """Build a block a second later, on the given or on the last accepted block."""
        self.now += 1
        self.vm.set_preference(self.vm.last_accepted() if on is None else on.block_id)
        return self.vm.build(BlockContext(self.now))

    def built(self, *txs: Tx, on: Block | None = None) -> Block:
        """Build a block that has transactions."""
        self.send(*txs)
        block = self.build(on)
        assert block is not None
        return block

    def verify(self, *blocks: Block) -> None:
        """Verify blocks of other nodes."""
        for block in blocks:
            self.vm.verify(self.vm.parse(block.raw), BlockContext(self.now + 1))

    def accept(self, *blocks: Block) -> None:
        self.vm.accept([block.block_id for block in blocks], written=self.written.append)

    def proposed(self) -> Block:
        """Let a staking period start and end; return the processing proposal to reward it."""
        self.accept(self.built(self.staking()))
        self.now += 3 * DAY
        block = self.build()
        assert block is not None
        assert block.proposal is not None
        return block

    def waiting(self) -> set[ID]:
        """Return the IDs of the transactions in the mempool."""
        return {
            ID(bytes(row[0]))
            for row in self.chain.db.rows("SELECT tx_id FROM platform_app_mempooltx")
        }

    def rows(self) -> Rows:
        """Return all rows of the accepted chain, by table."""
        return rows(self.chain.db.alias)


def quiet(node: CommonSettings, db: Database) -> PlatformRuntime:
    """Return a chain whose blocks are built on demand: requests for blocks are ignored."""
    chain = PlatformChain(node, settings.NODE.platform, db, platform_chain().identity)
    chain.producer.request = lambda: None
    return PlatformRuntime(chain)


def rows(alias: str) -> Rows:
    """Return all rows that are equal on nodes with the same blocks, by table."""
    found = {}
    models = apps.get_app_config("platform_app").get_models()
    for model in models:
        if model._meta.model_name not in OWN and not model._meta.proxy:
            with connections[alias].cursor() as cursor:
                cursor.execute(f"SELECT * FROM {model._meta.db_table}")  # the model's own name
                listed = (tuple(map(_plain, row)) for row in cursor.fetchall())
                found[model._meta.db_table] = sorted(listed, key=repr)
    return found


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview) else value


@pytest.fixture
def sides() -> tuple[Side, Side]:
    """Two nodes with the same genesis that are not connected."""
    first, second = (Side(quiet(settings.NODE.common, Database(alias))) for alias in ALIASES)
    return first, second
