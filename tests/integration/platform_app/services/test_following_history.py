"""Random histories made by the builder are followed from their bytes, and create the same rows."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.db import connection

from nodeproject.apps import this_node
from nodeproject.startup import identity
from platform_app import models
from platform_app.apps import platform_chain, platform_runtime
from platform_app.blocks.block import Block
from platform_app.blocks.processing import WriteStep
from platform_app.chain import PlatformChain
from platform_app.selectors import accepted
from platform_app.services import acceptance, mempool
from platform_app.services.vm import parse_block
from platform_app.state.stakers import Priority
from platform_app.txs.base import TxStatus
from tests.builders import platform, platform_rows, platform_tables
from tests.builders.decided import accept_platform
from tests.builders.node_settings import updated
from tests.builders.platform_random import History, funded
from tests.builders.platform_replay import remembered

pytestmark = pytest.mark.sqlite_only

BLOCKS = {"sqlite": 250, "postgresql": 60}


@pytest.fixture
def begun(db: None, node_settings: Any, settings: Any, tmp_path: Path) -> None:
    """A network whose coins belong to known keys; this node has no part in it."""
    settings.NODE = updated(node_settings, data_dir=str(tmp_path))
    identity.make_identity(this_node().settings, platform.NOW)
    platform_rows.begin_with(funded())


def happen(history: History, blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue and build until the given height is reached; a third of the validators is never online."""
    accept = acceptance.accept

    def accept_and_note(
        chain: PlatformChain, steps: Sequence[WriteStep], *more: Any, **named: Any
    ) -> Any:
        place = accept(chain, steps, *more, **named)
        for step in steps:
            history.state.accept(step.diff)
        return place

    monkeypatch.setattr(acceptance, "accept", accept_and_note)
    while platform_chain().tip().height < blocks:
        history.pass_time()
        txs = history.txs(history.random.randint(1, 12))
        mempool.issue(platform_chain(), txs, now=history.now, gossiped=True)
        while platform_runtime().consensus.produce(now=history.now) is not None:
            for staker in history.state.stakers.values():
                watched = staker.priority is Priority.PRIMARY_VALIDATOR_CURRENT
                if watched and staker.tx_id[0] % 3 == 0:
                    models.ValidatorUptime.objects.filter(staker=staker.tx_id).update(
                        up_duration=0, last_updated=staker.end
                    )


def follow(blocks: Sequence[Block], random: Random, now: int) -> None:
    """Follow the blocks in batches of random size, which may end between a proposal and its option."""
    place = 0
    while place < len(blocks):
        end = place + random.randint(1, 30)
        accept_platform(platform_runtime(), blocks[place:end], now=now)
        place = end


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.usefixtures("begun")
def test_followed_history_writes_the_builders_rows(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, history = platform_tables.rows(), History(seed, remembered())
    with monkeypatch.context() as patched:
        happen(history, BLOCKS[connection.vendor], patched)
    wanted, top = platform_tables.alike(), platform_chain().tip().height
    raws = [raw_block.raw for raw_block in accepted.raw_blocks(platform_chain(), 1, top, 1 << 30)]
    rewards = models.Tx.objects.filter(kind=models.TxKind.REWARD_VALIDATOR)
    assert {row.status for row in rewards} == {TxStatus.COMMITTED, TxStatus.ABORTED}
    platform_tables.put_back(before)

    follow([parse_block(raw) for raw in raws], history.random, history.now)

    assert platform_chain().tip().height == top
    assert platform_tables.alike() == wanted
