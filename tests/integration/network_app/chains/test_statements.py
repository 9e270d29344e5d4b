"""The number of SQL statements per submission and block, including writes and transaction boundaries.

Before blocks were verified and then accepted (b2144c4) the same on the same rows took, on SQLite / PostgreSQL:

|| | send | block | its outer block |
||---|---|---|---|
|| C-Chain | 8 / 9 | 17 / 19 | 13 / 11 |
|| P-Chain | 18 / 19 | 21 / 23 | 13 / 11 |

An outer block was made and written later, when a peer first requested it. Now it is one more row in the block's own
transaction: a block takes one statement more than it did without its outer block, and ten to twelve fewer than with it.

On PostgreSQL the statements of the C-Chain are sent in fewer messages, which are counted here
(`Database.atomic_together`, `read_ahead`), together with the BEGIN and COMMIT that Django records, although these are
part of other messages.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from cchain_app.apps import evm_runtime
from cchain_app.chain import EvmChain
from cchain_app.services import transactions
from cchain_app.services.runtime import Arrivals
from chaindb import clock
from platform_app.apps import platform_chain, platform_runtime
from platform_app.chain import PlatformChain
from platform_app.services import mempool
from tests.integration.network_app.world import World

OUTER_BLOCK = 1
GENERATION = 2
"""Reads that detect a rewind: before the block is built, and before its outer block is written."""
DEVELOPMENT = 2
"""Reads of cheats on the head: when a block is built, and when it is accepted."""
ATOMIC = 1
"""The query for pending atomic transactions; the producer's process sends it with others."""
TRIES = 2
"""The read and the write of the nodes that keep past tries readable; on PostgreSQL they are sent with others."""
C_CHAIN = {
    "sqlite": (5, 17 + OUTER_BLOCK + GENERATION + DEVELOPMENT + ATOMIC + TRIES),
    "postgresql": (5, 11 + ATOMIC),
}
"""A send on SQLite takes three fewer than before: pending transactions are dated by wall time, the rows of an empty
pool are not read, and neither is the clock if no fork is scheduled."""
C_CHAIN_STRAIGHT = {"sqlite": 22 + TRIES, "postgresql": 5}
"""A send and its block. On PostgreSQL three messages: reads before the locks, reads under the locks, and writes."""
P_CHAIN = {
    "sqlite": (18, 21 + OUTER_BLOCK + GENERATION),
    "postgresql": (19, 23 + OUTER_BLOCK + GENERATION),
}


def statements(chain: EvmChain | PlatformChain, work: Callable[[], Any]) -> list[str]:
    """Run a function, and return the statements sent to the chain's database in the meantime."""
    with CaptureQueriesContext(connections[chain.db.alias]) as told:
        work()
    return [
        " ".join(captured_query["sql"].split())[:100] for captured_query in told.captured_queries
    ]


@pytest.fixture
def begun(shared_world: World) -> World:
    """Both chains, some blocks after genesis: everything that is read only once is cached."""
    for _ in range(3):
        shared_world.make_c(1)
        shared_world.make_p()
    return shared_world


def test_statements_of_the_c_chain(begun: World) -> None:
    runtime, made = evm_runtime(), begun.c.make()
    chain = runtime.chain

    sent = statements(chain, lambda: transactions.submit(runtime, [made.raw]))
    begun.wall.seconds += 1
    now = clock.now()
    produced = statements(chain, lambda: runtime.consensus.produce(now=now))

    assert begun.maker.c.last_accepted().height == 4
    assert (len(sent), len(produced)) == C_CHAIN[chain.db.connection.vendor], (sent, produced)


def test_c_chain_statements_of_a_directly_mined_transaction(
    begun: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = evm_runtime()
    chain = runtime.chain
    monkeypatch.setattr(chain, "settings", replace(chain.settings, mining="auto"))
    pooling = runtime.arrivals
    runtime.arrivals = Arrivals(mines=True)
    try:
        transactions.submit(runtime, [begun.c.make().raw])  # the mining mode is read only once
        made = begun.c.make()
        sent = statements(chain, lambda: transactions.submit(runtime, [made.raw]))
    finally:
        runtime.arrivals = pooling

    assert begun.maker.c.last_accepted().height == 5
    assert len(sent) == C_CHAIN_STRAIGHT[chain.db.connection.vendor], sent


def test_statements_of_the_p_chain(begun: World) -> None:
    chain, made, now = platform_chain(), begun.p.make(), clock.now()

    issued = statements(chain, lambda: mempool.issue(chain, [made], now=now))
    begun.wall.seconds += 1
    produced = statements(chain, lambda: platform_runtime().consensus.produce(now=now + 1))

    assert begun.maker.p.last_accepted().height == 4
    assert (len(issued), len(produced)) == P_CHAIN[chain.db.connection.vendor], (issued, produced)
