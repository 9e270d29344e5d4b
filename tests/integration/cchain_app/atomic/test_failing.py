"""Acceptances that end between any two of their statements: coins are on one side or in between, never lost or doubled."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from cchain_app.atomic.fees import burned
from cchain_app.atomic.transactions import AtomicTx
from cchain_app.services import atomic
from platform_app.apps import platform_chain, platform_runtime
from platform_app.config import UNIT
from platform_app.selectors import outputs
from platform_app.services import mempool
from platform_app.txs.subnets import ImportTx
from primitives.ids import P_CHAIN_ID
from primitives.keys import EWOQ_KEY
from shared_app.models import EarlyImport, SharedOutput
from tests.builders import platform
from tests.integration.cchain_app.atomic.conftest import EWOQ_ACCOUNT, EWOQ_ADDRESS, TO, Both
from tests.integration.cchain_app.atomic.killing import KilledError, killed_at
from tests.integration.cchain_app.atomic.three_chains import ThreeChains
from tests.integration.conftest import forget_memory
from tests.integration.platform_app.made import export as platform_export

pytestmark = pytest.mark.sqlite_only  # PostgreSQL gets several statements in one message

WEI = 10**12


def units(both: Both) -> int:
    """Return the units of ewoq's coins on both chains and in between, and of the account that imports."""
    own = outputs.balance(platform_chain(), [EWOQ_ADDRESS], now=both.p.now).funds
    waiting = sum(item.amount for item in SharedOutput.objects.all())
    on_c = both.balance(EWOQ_ACCOUNT) + both.balance(TO)
    assert on_c % WEI == 0
    return own[both.p.asset_id].total + waiting + on_c // WEI


def die_everywhere(both: Both, step: Any) -> int:
    """Run a step, killed at each of its statements in turn, until it succeeds; the coins stay what they were before."""
    before = units(both)

    def check() -> None:
        assert units(both) == before
        assert not EarlyImport.objects.exists()

    return killed_everywhere(step, check)


def killed_everywhere(step: Callable[[], Any], check: Callable[[], None]) -> int:
    """Run a step, killed at each of its statements in turn, until it succeeds; after each kill, check the rows."""
    for statement in range(1000):
        try:
            with killed_at(statement) as count:
                step()
        except KilledError:
            forget_memory()
            check()
        else:
            assert count[0] <= statement, "the last run was not killed"
            return statement
    pytest.fail("it never succeeds")


def cost(both: Both, tx: AtomicTx) -> int:
    return burned(tx, both.parameters.asset_id)


def test_an_import_that_dies_anywhere_happens_once_or_not(both: Both) -> None:
    both.exported_to_c(UNIT)
    tx = both.make_import()
    atomic.issue(both.c.evm, tx)
    before = units(both)

    assert die_everywhere(both, both.c.mine) > 10

    assert units(both) == before - cost(both, tx)
    assert both.balance(TO) == (UNIT - cost(both, tx)) * WEI
    assert both.to_c() == []


def test_an_export_that_dies_anywhere_happens_once_or_not(both: Both) -> None:
    tx = both.make_export(UNIT)
    atomic.issue(both.c.evm, tx)
    before = units(both)

    assert die_everywhere(both, both.c.mine) > 10

    assert units(both) == before - cost(both, tx)
    (waiting,) = both.waiting(P_CHAIN_ID, both.p.network.c_chain_id)
    assert waiting.tx_id == tx.tx_id


def test_exports_and_imports_of_the_p_chain_that_die_anywhere(both: Both) -> None:
    exported = platform_export(both.p, both.p.network.c_chain_id, UNIT)
    mempool.issue_tx(platform_chain(), exported, now=both.p.now)
    both.p.now += 1
    assert die_everywhere(both, lambda: platform_runtime().consensus.produce(now=both.p.now)) > 5
    assert len(both.to_c()) == 1

    both.do(both.make_export(UNIT))
    (back,) = both.waiting(P_CHAIN_ID, both.p.network.c_chain_id)
    imported = platform.signed(
        platform.unsigned(
            ImportTx,
            outputs=(both.p.output(UNIT // 2, EWOQ_ADDRESS),),
            inputs=(),
            source_chain=both.p.network.c_chain_id,
            imported_inputs=platform.spend_all(back),
        ),
        [[EWOQ_KEY]],
    )
    mempool.issue_tx(platform_chain(), imported, now=both.p.now)
    both.p.now += 1
    before = units(both)
    assert die_everywhere(both, lambda: platform_runtime().consensus.produce(now=both.p.now)) > 5
    assert units(both) == before - UNIT // 2


@pytest.mark.parametrize("peer", ["P", "C"])
def test_exports_and_imports_of_the_x_chain_that_die_anywhere(both: Both, peer: str) -> None:
    chains = ThreeChains(both, Random(1))

    def produce() -> None:
        assert chains.runtime("X").consensus.produce(now=chains.later()) is not None

    chains.export("X", peer)
    assert killed_everywhere(produce, chains.assert_conserved) > 5
    assert len(both.waiting(chains.ids[peer], chains.ids["X"])) == 1

    chains.export(peer, "X")
    assert chains.runtime(peer).consensus.produce(now=chains.later()) is not None
    coming = both.waiting(chains.ids["X"], chains.ids[peer])
    chains.submit("X", chains.make_import("X", peer, coming))
    assert killed_everywhere(produce, chains.assert_conserved) > 5
    assert both.waiting(chains.ids["X"], chains.ids[peer]) == []
    assert chains.moved() == {"P": 0, "C": 0, "X": 2} | {peer: 1}
    chains.assert_conserved()
