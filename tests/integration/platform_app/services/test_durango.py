"""Under avalanchego's parameters: blocks as its nodes make them, and the resulting rows.

Stakers start with their block there, whatever start their transactions contain.
"""

from collections.abc import Callable
from typing import Any

import pytest

from nodeproject.apps import this_node
from platform_app import models
from platform_app.apps import platform_chain
from platform_app.config import DAY, REFERENCE_UNIT
from platform_app.executor.errors import TxStateReason
from platform_app.executor.rewards import potential_reward
from platform_app.services import mempool
from platform_app.txs.base import Tx
from platform_app.txs.staking import (
    AddPermissionlessDelegatorTx,
    AddPermissionlessValidatorTx,
    AddValidatorTx,
)
from platform_app.txs.subnets import AddSubnetValidatorTx, CreateSubnetTx
from primitives.ids import NodeID
from tests.builders import platform
from tests.builders.reasons import raises
from tests.integration.platform_app.conftest import PChain, Rpc, asking
from tests.integration.platform_app.made import OWNERS, node, staker_of, supply
from tests.integration.platform_app.produced import follow, standard
from utxo.errors import InvalidTx

GENESIS_NODE = NodeID.parse("NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg")
STAKE = 2_000 * REFERENCE_UNIT
DELEGATION = 25 * REFERENCE_UNIT
BURN = REFERENCE_UNIT

STARTS: list[Callable[[int], int]] = [
    lambda _now: 0,
    lambda now: now - 400 * DAY,
    lambda now: now + DAY,
    lambda now: now + 300 * DAY,
]
whatever_start = pytest.mark.parametrize("start_of", STARTS, ids=["0", "past", "soon", "far"])


@pytest.fixture
def ask(reference_pchain: PChain) -> Rpc:
    return asking(this_node().endpoints.platform.dispatcher)


def added(
    reference_pchain: PChain, cls: type, node_id: NodeID, start: int, end: int, **fields: Any
) -> Tx:
    weight = DELEGATION if cls is AddPermissionlessDelegatorTx else STAKE
    return reference_pchain.make(
        cls,
        validator=platform.validator(node_id=node_id, start=start, end=end, weight=weight),
        stake=reference_pchain.stake(weight),
        burn=BURN,
        **fields,
    )


def added_validator(reference_pchain: PChain, name: str, start: int, end: int) -> Tx:
    return added(
        reference_pchain,
        AddPermissionlessValidatorTx,
        node(name),
        start,
        end,
        signer=platform.proof_of_possession(),
        validation_rewards_owner=OWNERS,
        delegation_rewards_owner=OWNERS,
    )


def accept(reference_pchain: PChain, *txs: Tx) -> int:
    """Accept a block that another node made of these transactions; return its time."""
    block = standard(reference_pchain, *txs, after=DAY)
    reference_pchain.now = block.time
    follow(reference_pchain, block)
    return block.time


@whatever_start
def test_subnet_validator_starts_with_its_block(
    reference_pchain: PChain, ask: Rpc, start_of: Callable[[int], int]
) -> None:
    subnet = reference_pchain.make(CreateSubnetTx, owner=OWNERS, burn=BURN)
    accept(reference_pchain, subnet)
    end = reference_pchain.now + 30 * DAY
    tx = reference_pchain.make(
        AddSubnetValidatorTx,
        validator=platform.subnet_validator(
            node_id=GENESIS_NODE,
            start=start_of(reference_pchain.now),
            end=end,
            weight=7,
            subnet_id=subnet.tx_id,
        ),
        burn=BURN,
    )
    began = accept(reference_pchain, tx)

    (shown,) = ask("platform.getCurrentValidators", subnetID=str(subnet.tx_id))["validators"]
    assert (shown["txID"], shown["weight"]) == (str(tx.tx_id), "7")
    assert (shown["startTime"], shown["endTime"]) == (str(began), str(end))
    assert ask("platform.getPendingValidators", subnetID=str(subnet.tx_id))["validators"] == []


@whatever_start
def test_validator_and_delegator_start_with_their_blocks(
    reference_pchain: PChain, ask: Rpc, start_of: Callable[[int], int]
) -> None:
    before, end = supply(), reference_pchain.now + 30 * DAY
    validator = added_validator(reference_pchain, "new", start_of(reference_pchain.now), end)
    began = accept(reference_pchain, validator)
    delegator = added(
        reference_pchain,
        AddPermissionlessDelegatorTx,
        node("new"),
        start_of(reference_pchain.now),
        end,
        rewards_owner=OWNERS,
    )
    joined = accept(reference_pchain, delegator)

    rewards, grown = [], before
    for amount, start in ((STAKE, began), (DELEGATION, joined)):
        config = platform_chain().config.rewards
        one = potential_reward(config, supply=grown, amount=amount, duration=end - start)
        rewards.append(str(one))
        grown += one
    assert supply() == grown
    (shown,) = ask("platform.getCurrentValidators", nodeIDs=[str(node("new"))])["validators"]
    (delegating,) = shown["delegators"]
    assert [value["startTime"] for value in (shown, delegating)] == [str(began), str(joined)]
    assert [item["potentialReward"] for item in (shown, delegating)] == rewards
    assert not models.Staker.objects.filter(phase=models.Phase.PENDING).exists()


@whatever_start
def test_this_node_builds_such_blocks_too(
    reference_pchain: PChain, start_of: Callable[[int], int]
) -> None:
    tx = added_validator(
        reference_pchain, "own", start_of(reference_pchain.now), reference_pchain.now + 365 * DAY
    )
    reference_pchain.do(tx)

    row = staker_of(tx)
    assert (row.start_time, row.phase) == (reference_pchain.now, models.Phase.CURRENT)


def test_scheduled_stakers_are_refused_by_the_mempool(reference_pchain: PChain) -> None:
    end = reference_pchain.now + 30 * DAY
    tx = added(
        reference_pchain,
        AddValidatorTx,
        node("old"),
        reference_pchain.now + 60,
        end,
        rewards_owner=OWNERS,
    )

    with raises(
        TxStateReason.ADD_VALIDATOR_REFUSED,
        kind=InvalidTx,
        match=r"^AddValidatorTx is not permitted post-Durango$",
    ):
        mempool.issue_tx(platform_chain(), tx, now=reference_pchain.now)
