"""The rows of a new facet are written with the block, without a change of `DatabaseState` and `commit`."""

import pytest

from platform_app.apps import platform_chain
from platform_app.blocks.block import build_standard
from platform_app.store import blocks
from tests.builders import platform, platform_rows
from tests.builders.platform_facet import CounterRows, CountingDiff, CountingState, create_table

pytestmark = pytest.mark.django_db

COUNTER = platform.some_id("counter")


def test_a_commit_writes_it_with_the_other_facets() -> None:
    platform_rows.begin()
    db = platform_chain().db
    create_table(db)
    diff = CountingDiff(CountingState(db))
    diff.clock.set_timestamp(platform.NOW + 1)
    diff.utxos.produce(platform.utxo())
    diff.counters.set(COUNTER, 7)
    block = build_standard(
        parent_id=platform_chain().tip().block_id, height=1, time=platform.NOW + 1, txs=[]
    )
    with db.atomic():
        blocks.commit(db, [block], diff, facets=(*blocks.FACETS, CounterRows))

    state = CountingState(db)
    assert state.counters.get(COUNTER) == 7
    assert state.utxos.get(platform.utxo().utxo_id) == platform.utxo()
    state.prefetch([platform.signed()])  # a facet without prefetch has none
