"""Votes on rewards: each validator prefers by its own measurement, and all accept the result (snowman.md 14.5)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from chaindb.database import Database
from platform_app.blocks.block import CommitBlock
from platform_app.config import DAY
from platform_app.txs.base import TxStatus
from tests.integration.network_app.consensus.platform_voters import Databases, PlatformNetwork
from tests.integration.platform_app.sides import Side, quiet

pytestmark = [pytest.mark.sqlite_only, pytest.mark.django_db(transaction=True)]

VOTERS = 5
COMMITTED, ABORTED = TxStatus.COMMITTED, TxStatus.ABORTED


@pytest.fixture
def databases(tmp_path: Path, transactional_db: None) -> Iterator[Databases]:
    found = Databases(tmp_path, VOTERS)
    yield found
    found.close()


@pytest.mark.parametrize(
    ("saw_it", "outcomes"),
    [
        ({0, 1, 2, 3, 4}, {COMMITTED}),
        (set(), {ABORTED}),
        ({0, 1, 2, 3}, {COMMITTED}),
        ({4}, {ABORTED}),
        ({0, 1, 2}, {COMMITTED, ABORTED}),
    ],
    ids=["all saw it", "nobody saw it", "one did not", "one did", "three did"],
)
def test_rewards_follow_the_votes(
    databases: Databases, saw_it: set[int], outcomes: set[TxStatus]
) -> None:
    tx = Side(quiet(settings.NODE.common, Database("default"))).staking()  # samples only those rows
    staker = tx.unsigned.validator.node_id  # type: ignore[attr-defined]
    with PlatformNetwork(databases, seed=len(saw_it)) as network:
        for voter in network.voters:
            voter.issue(tx)
        assert network.reach_height(1)
        for voter in network.voters:
            voter.see(*([staker] if voter.number in saw_it else []))
        network.leap(3 * DAY)

        commits: dict[int, bool] = {}

        def all_had_both_options() -> bool:
            for voter in network.voters:
                for option in voter.options()[:1]:
                    commits.setdefault(voter.number, isinstance(option, CommitBlock))
            return len(commits) == VOTERS

        assert network.reach(all_had_both_options)
        assert commits == {number: number in saw_it for number in range(VOTERS)}
        assert network.reach_height(3)

        first, *others = [voter.chain_rows() for voter in network.voters]
        assert others == [first] * len(others)
        status = network.voters[0].reward_status()
        assert status in outcomes
        assert bool(first["platform_app_rewardutxo"]) is (status is COMMITTED)
