"""info.uptime and info.acps: reports of peers, weighted by their stake."""

from typing import Any

import pytest

from platform_app.apps import platform_chain
from platform_app.selectors import stakers
from primitives.ids import NodeID
from tests.builders import network_rows, own_node
from tests.integration.info_app.conftest import AskBare
from tests.integration.platform_app import made
from tests.integration.platform_app.conftest import PChain, Rpc, refusal

pytestmark = pytest.mark.sqlite_only

DAY = 24 * 60 * 60


@pytest.fixture
def others(pchain: PChain) -> dict[str, int]:
    """Two more validators with a fifth of the stake each; return all weights."""
    own = stakers.current_validators(platform_chain()).weight
    for name in ("alice", "bob"):
        pchain.do(
            made.validator(pchain, name, end=2 * DAY, weight=min(own // 3, 3_000_000_000_000))
        )
    return {
        str(staker.node_id): staker.weight + staker.delegator_weight
        for staker in stakers.current_validators(platform_chain()).validators
    }


def test_sole_validator_has_full_uptime(rpc: Rpc) -> None:
    assert rpc("info.uptime") == {
        "rewardingStakePercentage": "100.0000",
        "weightedAveragePercentage": "100.0000",
    }


def test_reported_uptimes_are_weighted_by_stake(
    pchain: PChain, rpc: Rpc, others: dict[str, int]
) -> None:
    network_rows.report(connected=2)
    alice, bob = made.node("alice"), made.node("bob")
    network_rows.peer(alice, observed_uptime=90)
    network_rows.peer(bob, observed_uptime=79)
    total, own = sum(others.values()), others[str(pchain.node_id)]

    found = rpc("info.uptime")

    rewarding = 100 * (own + others[str(alice)]) / total
    average = (100 * own + 90 * others[str(alice)] + 79 * others[str(bob)]) / total
    assert found == {
        "rewardingStakePercentage": f"{rewarding:.4f}",
        "weightedAveragePercentage": f"{average:.4f}",
    }


def test_non_validator_has_no_uptime(
    rpc: Rpc, bare: AskBare, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        own_node.be(elsewhere, NodeID(bytes(20)))

        assert refusal(rpc, "info.uptime") == "couldn't get node uptime: node is not a validator"
        assert bare("info.uptime")["error"]["code"] == -32000


def test_acps_without_peer_preferences_are_empty(rpc: Rpc) -> None:
    assert rpc("info.acps") == {"acps": {}}


def test_acps_sum_up_the_preferences_of_peers(
    pchain: PChain, rpc: Rpc, others: dict[str, Any]
) -> None:
    network_rows.report(connected=2)
    alice, bob = made.node("alice"), made.node("bob")
    network_rows.peer(alice, supported_acps=[236])
    network_rows.peer(bob, objected_acps=[236])

    assert rpc("info.acps") == {
        "acps": {
            "236": {
                "supportWeight": str(others[str(alice)]),
                "supporters": [str(alice)],
                "objectWeight": str(others[str(bob)]),
                "objectors": [str(bob)],
                "abstainWeight": str(others[str(pchain.node_id)]),
            }
        }
    }
