"""The node is killed again and again while coins move among its three chains: every coin is on one of them, or between two."""

import random
import time
from contextlib import ExitStack

import pytest

from tests.e2e.chain_rows import check_coins, check_rows
from tests.e2e.checked import CheckedNode
from tests.e2e.crossings import ROUTE, Crossings
from tests.e2e.load import finish, wait_for_more
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_rows import accepted_ids, check_platform_rows
from tests.e2e.platform_wallet import UNIT, Wallet, fund, new_keys

PURSES = 2
LONGEST = 0.5
"""Longest time between the acceptance of a transaction and a kill, in seconds."""


@pytest.mark.parametrize(
    ("fresh", "kills"), [("embedded", 3), ("production", 1)], indirect=["fresh"]
)
def test_every_coin_is_somewhere_when_the_node_is_killed(fresh: CheckedNode, kills: int) -> None:
    wallets = [Wallet(key) for key in new_keys(PURSES)]
    fund(fresh, [(wallet.key, 1_000 * UNIT) for wallet in wallets])
    with PlatformClient(fresh.port) as client:
        for wallet in wallets:
            wallet.look(client)

    with ExitStack() as ending:
        crossings = ending.enter_context(Crossings([fresh], random.Random(), wallets))
        for _ in range(kills):
            wait_for_more(crossings)
            time.sleep(random.uniform(0, LONGEST))
            fresh.kill()
            fresh.start()
        # All six directions, each with its export and its import.
        for _ in range(len(ROUTE)):  # a slow machine has time for each part
            wait_for_more(crossings, count=2 * PURSES)
        finish(crossings)

    assert "All coins are accounted for." in fresh.manage("check_supply")
    with fresh.database() as ask:
        check_rows(ask)
        check_coins(ask)
        check_platform_rows(ask)
        assert set(crossings.tx_ids) <= accepted_ids(ask)
