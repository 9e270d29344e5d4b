"""platform.getStakingAssetID, getMinStake, getTotalStake, getCurrentSupply, getMaxStakeAmount."""

from typing import Any

import pytest

from platform_app.apps import platform_chain
from platform_app.config import DAY, UNIT
from platform_app.selectors import stakers
from platform_app.txs.staking import AddDelegatorTx
from primitives.ids import NodeID
from tests.builders import platform
from tests.integration.platform_app.conftest import PChain, Rpc, refusal

SUBNET = str(platform.SUBNET_ID)


def delegate(pchain: PChain, weight: int, days: int) -> Any:
    """Add a delegation to this node for some days, which starts in a minute."""
    period = platform.validator(
        node_id=pchain.node_id,
        start=pchain.now + 60,
        end=pchain.now + 60 + days * DAY,
        weight=weight,
    )
    pchain.do(pchain.make(AddDelegatorTx, stake=pchain.stake(weight), validator=period))
    return period


def test_the_staking_asset(pchain: PChain, rpc: Rpc) -> None:
    expected = {"assetID": str(pchain.asset_id)}
    assert rpc("platform.getStakingAssetID") == expected
    assert rpc("platform.getStakingAssetID", subnetID=None) == expected


def test_the_least_stakes(rpc: Rpc) -> None:
    assert rpc("platform.getMinStake") == {
        "minValidatorStake": "2000000000",
        "minDelegatorStake": "25000000",
    }


@pytest.mark.parametrize("method", ["platform.getStakingAssetID", "platform.getMinStake"])
def test_other_subnets_stake_nothing(rpc: Rpc, method: str) -> None:
    assert refusal(rpc, method, subnetID=SUBNET) == (
        f"failed fetching subnet transformation for {SUBNET}: not found"
    )


def test_the_weight_of_all(pchain: PChain, rpc: Rpc) -> None:
    before = 2_000_000 * UNIT
    assert rpc("platform.getTotalStake") == {"stake": str(before), "weight": str(before)}
    delegate(pchain, 30 * UNIT, days=1)
    pchain.wait(60)

    after = str(before + 30 * UNIT)
    assert rpc("platform.getTotalStake") == {"stake": after, "weight": after}
    assert rpc("platform.getTotalStake", subnetID=SUBNET) == {"stake": "0", "weight": "0"}


def test_supply_includes_potential_rewards(pchain: PChain, rpc: Rpc) -> None:
    (own,) = stakers.current_validators(platform_chain()).validators
    genesis = 1_000_000_000_000 * UNIT
    assert rpc("platform.getCurrentSupply") == {
        "supply": str(genesis + own.potential_reward),
        "height": "0",
    }
    delegate(pchain, 30 * UNIT, days=1)
    pchain.wait(60)
    (delegator,) = stakers.current_delegators(platform_chain(), own.subnet_id, own.node_id)
    assert rpc("platform.getCurrentSupply") == {
        "supply": str(genesis + own.potential_reward + delegator.potential_reward),
        "height": "2",
    }
    assert refusal(rpc, "platform.getCurrentSupply", subnetID=SUBNET) == (
        "fetching current supply failed: not found"
    )


def test_the_most_stake_in_a_period(pchain: PChain, rpc: Rpc) -> None:
    own, now = 2_000_000 * UNIT, pchain.now
    delegate(pchain, 30 * UNIT, days=1)
    later = delegate(pchain, 50 * UNIT, days=5)
    node = str(pchain.node_id)

    def most(start: int, end: int, **params: Any) -> int:
        answer = rpc(
            "platform.getMaxStakeAmount",
            **{"nodeID": node, "startTime": start, "endTime": str(end), **params},
        )
        return int(answer["amount"])

    assert most(now + 10, now + 20) == own
    assert most(now + 10, now + DAY) == own + 80 * UNIT
    assert most(now + 2 * DAY, now + 3 * DAY) == own + 50 * UNIT
    assert most(later.end + 1, later.end + DAY) == own
    assert most(now + 366 * DAY, now + 400 * DAY) == 0
    assert most(now + 10, now + DAY, nodeID=str(NodeID(bytes(20)))) == 0
    assert most(now + 10, now + DAY, subnetID=SUBNET) == 0


def test_invalid_period_is_refused(pchain: PChain, rpc: Rpc) -> None:
    node = str(pchain.node_id)
    asked = {"nodeID": node, "startTime": pchain.now - 1, "endTime": pchain.now}
    assert refusal(rpc, "platform.getMaxStakeAmount", **asked) == "start time in the past"
    asked = {"nodeID": node, "startTime": pchain.now + 2, "endTime": pchain.now + 1}
    assert refusal(rpc, "platform.getMaxStakeAmount", **asked) == (
        "start time must be before end time"
    )
