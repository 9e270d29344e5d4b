"""A P-Chain with three validators, one of them this node; stake of delegators counts for their validator."""

from collections.abc import Iterator

import pytest

from platform_app.state.stakers import Priority
from primitives.ids import PRIMARY_NETWORK_ID, NodeID
from tests.builders import own_node, platform, platform_rows
from tests.builders.process import restart_node

OWN, ALICE, BOB, STRANGER = (NodeID(bytes([number]) * 20) for number in range(1, 5))
WEIGHTS = {OWN: 2_000, ALICE: 5_000, BOB: 3_000}
"""1,000 of ALICE's weight belong to a delegator."""


@pytest.fixture
def validators(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Write the validators and the delegator."""
    restart_node()
    own_node.be(monkeypatch, OWN)
    weights = WEIGHTS | {ALICE: 4_000}
    made = [
        platform_rows.adding(node_id=node_id, weight=weight, subnet_id=PRIMARY_NETWORK_ID)[1]
        for node_id, weight in weights.items()
    ]
    delegation = platform_rows.adding(
        Priority.PRIMARY_DELEGATOR_CURRENT, node_id=ALICE, weight=1_000
    )
    platform_rows.begin(*made, delegation[1], time=platform.NOW)
    yield
    restart_node()
