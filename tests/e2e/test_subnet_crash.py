"""A node with several chains of subnets is killed at random under load on all of them (at full size: `make soak-subnets`)."""

import random
from pathlib import Path

from tests.e2e.subnets import SubnetLoad
from tests.servers.node import RunningNode

CHAINS, KILLS = 5, 3


def test_acknowledged_transactions_of_each_chain_survive_kills(tmp_path: Path) -> None:
    with RunningNode(tmp_path / "node") as node:
        node.start()
        load = SubnetLoad(node, random.randrange(2**32))
        load.create(CHAINS)
        load.kill_at_random(KILLS)
        load.check()
