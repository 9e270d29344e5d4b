"""A recorded week of auto-renewed validators on the reference's local network (etna.md 9)."""

import json
from pathlib import Path
from typing import Any

import pytest

from platform_app import models
from platform_app.apps import platform_chain, platform_runtime
from platform_app.selectors import accepted, stakers
from platform_app.state.stakers import Staker
from platform_app.store.rows import utxo_of
from platform_app.store.state import DatabaseState
from platform_app.txs.codec import CODEC
from primitives.ids import PRIMARY_NETWORK_ID, NodeID
from tests.integration.platform_app.conftest import REFERENCE_START, PChain
from tests.integration.platform_app.recorded import (
    assert_no_coin_is_lost,
    assert_validator_sets,
    take_block,
)
from utxo.components import UTXO

HISTORY = Path(__file__).parents[3] / "vectors" / "etna" / "history_helicon.json"


@pytest.fixture(scope="module")
def history() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(HISTORY.read_text())["cases"][0]
    return found


def shown(staker: Staker, state: DatabaseState) -> dict[str, Any]:
    """Return a staker in the form of the vectors."""
    found = {
        "txID": str(staker.tx_id),
        "nodeID": str(staker.node_id),
        "subnetID": str(staker.subnet_id),
        "weight": staker.weight,
        "start": staker.start,
        "end": staker.end,
        "potentialReward": staker.potential_reward,
        "priority": int(staker.priority),
    }
    if staker.priority.is_delegator:
        return found
    terms = state.stakers.auto_renewal(staker.tx_id)
    assert terms is not None
    return found | {
        "nextPeriod": terms.next_period,
        "autoCompoundRewardShares": terms.compound_shares,
        "accruedValidationRewards": terms.accrued_validation_rewards,
        "accruedDelegateeRewards": terms.accrued_delegatee_rewards,
        "delegateeReward": state.stakers.delegatee_reward(staker.tx_id),
    }


def outputs_of_stakers() -> list[UTXO]:
    """Return the unspent outputs with stake and rewards of stakers since the genesis, in the order of their IDs."""
    of_stakers = {row.pk: row.shares for row in models.Staker.objects.filter(added_height__gt=0)}
    rewarding = set(models.RewardUTXO.objects.values_list("pk", flat=True))
    return [
        utxo_of(row.tx_id, row.output_index, row.asset_id, row.output)
        for row in models.UTXO.objects.all()
        if row.pk in rewarding or (row.tx_id in of_stakers and row.output_index > 0)
    ]


def assert_stakers(expected: dict[str, Any]) -> None:
    state = DatabaseState(platform_chain().db)
    current = [staker for staker in state.stakers.current() if staker.start > REFERENCE_START]
    assert [shown(staker, state) for staker in current] == expected["currentStakersSinceGenesis"]
    assert state.supplies.get(PRIMARY_NETWORK_ID) == expected["supply"]
    found = sorted(CODEC.marshal(utxo).hex() for utxo in outputs_of_stakers())
    assert found == sorted(expected["rewardAndStakeUTXOs"])


def weights(expected: dict[str, Any]) -> dict[NodeID, int]:
    """Return the weights of validators with their delegators in a recorded state."""
    found: dict[NodeID, int] = {}
    for staker in expected["currentStakersSinceGenesis"]:
        node_id = NodeID.parse(staker["nodeID"])
        found[node_id] = found.get(node_id, 0) + staker["weight"]
    return found


def test_the_recorded_history_of_auto_renewed_validators_is_repeated(
    helicon_pchain: PChain, history: dict[str, Any]
) -> None:
    chain, vm = platform_chain(), platform_runtime().vm
    founders = set(stakers.current_validators(chain).by_node)
    at_height: dict[int, dict[NodeID, int]] = {}
    refused = 0
    for case in history["blocks"]:
        if not take_block(vm, case):
            refused += 1
        elif "stakersAfter" in case:
            assert_stakers(case["stakersAfter"])
            at_height[case["height"]] = weights(case["stakersAfter"])

    assert (len(at_height), refused) == (16, 13)
    assert_no_coin_is_lost()
    assert assert_validator_sets(history) == 23
    last = accepted.block_at(chain, chain.tip().height)
    assert last is not None
    assert last.raw.hex() == history["blocks"][-1]["bytes"]
    for height, expected in at_height.items():
        members = stakers.validators_at(chain, height)
        assert members is not None
        joined = {node: one.weight for node, one in members.items() if node not in founders}
        assert joined == expected, height
