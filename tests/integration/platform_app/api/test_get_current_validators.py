"""platform.getCurrentValidators."""

from typing import Any

import pytest

from jsonrpc.errors import JsonRpcError
from platform_app.apps import platform_chain
from platform_app.config import DAY
from platform_app.selectors import accepted, stakers
from platform_app.txs.staking import AddDelegatorTx, AddPermissionlessValidatorTx, AddValidatorTx
from platform_app.txs.subnets import AddSubnetValidatorTx, CreateSubnetTx
from primitives.addresses import format_address
from primitives.ids import NodeID
from tests.builders import platform
from tests.integration.platform_app.conftest import EWOQ, PChain, Rpc

OWNER = {
    "locktime": "0",
    "threshold": "1",
    "addresses": ["P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"],
}
NODE = NodeID(b"n" * 20)


def ask(rpc: Rpc, **params: Any) -> list[dict[str, Any]]:
    validators: list[dict[str, Any]] = rpc("platform.getCurrentValidators", **params)["validators"]
    return validators


def test_the_record_has_the_fields_of_the_specification(pchain: PChain, rpc: Rpc) -> None:
    (record,) = ask(rpc)

    specified = {
        name: record[name]
        for name in (
            "txID", "startTime", "endTime", "stakeAmount", "nodeID", "delegationFee",
            "connected", "uptime",
        )
    }  # fmt: skip
    (genesis,) = stakers.current_validators(platform_chain()).validators
    assert specified == {
        "txID": str(genesis.tx_id),
        "startTime": str(pchain.now),
        "endTime": str(pchain.now + 365 * DAY),
        "stakeAmount": "2000000000000",
        "nodeID": str(pchain.node_id),
        "delegationFee": "2.0000",
        "connected": True,
        "uptime": "1.0000",
    }


def test_validator_record_has_the_fields_that_clients_read(pchain: PChain, rpc: Rpc) -> None:
    (record,) = ask(rpc)
    (genesis,) = stakers.current_validators(platform_chain()).validators

    assert genesis.public_key is not None
    assert genesis.proof_of_possession is not None
    assert {name: record[name] for name in list(record) if name not in {"txID", "nodeID"}} == {
        "startTime": str(pchain.now),
        "endTime": str(pchain.now + 365 * DAY),
        "weight": "2000000000000",
        "stakeAmount": "2000000000000",
        "delegationFee": "2.0000",
        "rewardOwner": OWNER,
        "validationRewardOwner": OWNER,
        "delegationRewardOwner": OWNER,
        "potentialReward": str(genesis.potential_reward),
        "accruedDelegateeReward": "0",
        "signer": {
            "publicKey": "0x" + genesis.public_key.hex(),
            "proofOfPossession": "0x" + genesis.proof_of_possession.hex(),
        },
        "delegatorCount": "0",
        "delegatorWeight": "0",
        "uptime": "1.0000",
        "connected": True,
    }
    assert genesis.potential_reward > 0


def test_delegators_are_counted_and_listed_for_one_node_only(pchain: PChain, rpc: Rpc) -> None:
    weight = 25_000_000
    period = platform.validator(
        node_id=pchain.node_id, start=pchain.now + 60, end=pchain.now + 60 + DAY, weight=weight
    )
    rewards = platform.owners(platform.ADDRESSES[1])
    tx = pchain.do(
        pchain.make(
            AddDelegatorTx,
            stake=pchain.stake(weight),
            burn=0,
            validator=period,
            rewards_owner=rewards,
        )
    )
    assert ask(rpc)[0]["delegatorCount"] == "0"
    pchain.wait(60)

    (in_list,) = ask(rpc)
    assert (in_list["delegatorCount"], in_list["delegatorWeight"]) == ("1", "25000000")
    assert "delegators" not in in_list
    (alone,) = ask(rpc, nodeIDs=[str(pchain.node_id)])
    (delegator,) = stakers.current_delegators(
        platform_chain(), accepted.ID(bytes(32)), pchain.node_id
    )
    assert alone == in_list | {
        "delegators": [
            {
                "txID": str(tx.tx_id),
                "startTime": str(period.start),
                "endTime": str(period.end),
                "weight": "25000000",
                "stakeAmount": "25000000",
                "nodeID": str(pchain.node_id),
                "rewardOwner": OWNER
                | {"addresses": [format_address("P", "local", platform.ADDRESSES[1])]},
                "potentialReward": str(delegator.potential_reward),
            }
        ]
    }


def test_one_node_without_delegators_has_an_empty_list(pchain: PChain, rpc: Rpc) -> None:
    (record,) = ask(rpc, nodeIDs=[str(pchain.node_id)])
    assert record["delegators"] == []


def add_validator(pchain: PChain, node_id: NodeID, shares: int = 123_456) -> None:
    config = platform.CONFIG
    period = platform.validator(
        node_id=node_id, start=pchain.now + 60, end=pchain.now + 60 + 14 * DAY
    )
    tx = pchain.make(
        AddValidatorTx,
        stake=pchain.stake(config.min_validator_stake),
        burn=0,
        validator=period,
        rewards_owner=platform.owners(EWOQ),
        shares=shares,
    )
    pchain.do(tx)
    pchain.wait(60)


def test_another_node_is_not_connected_and_has_no_signer(pchain: PChain, rpc: Rpc) -> None:
    add_validator(pchain, NODE)

    (record,) = ask(rpc, nodeIDs=[str(NODE)])
    assert record["delegationFee"] == "12.3456"
    assert (record["connected"], record["uptime"]) == (False, "1.0000")
    assert "signer" not in record


def test_validators_are_filtered_by_node_ids(pchain: PChain, rpc: Rpc) -> None:
    add_validator(pchain, NODE)
    own, other = str(pchain.node_id), str(NODE)

    assert [entry["nodeID"] for entry in ask(rpc)] == [other, own]
    unknown = str(NodeID(bytes(20)))
    found = ask(rpc, nodeIDs=[unknown, own, other, own])
    assert [item["nodeID"] for item in found] == [own, other]
    assert ask(rpc, nodeIDs=[unknown]) == []
    assert ask(rpc, nodeids=[other], subnetID=None)[0]["nodeID"] == other


def test_only_changed_validators_are_rendered_again(pchain: PChain, rpc: Rpc) -> None:
    before = ask(rpc)
    add_validator(pchain, NODE)

    after = ask(rpc)
    assert after[1] == before[0]
    assert ask(rpc) == after


def test_a_subnets_validators_have_the_fields_too(pchain: PChain, rpc: Rpc) -> None:
    created = pchain.do(pchain.make(CreateSubnetTx, owner=platform.owners(EWOQ)))
    period = platform.subnet_validator(
        node_id=pchain.node_id,
        subnet_id=created.tx_id,
        start=pchain.now + 60,
        end=pchain.now + DAY + 60,
    )
    tx = pchain.do(pchain.make(AddSubnetValidatorTx, validator=period))
    subnet = str(created.tx_id)
    assert ask(rpc, subnetID=subnet) == []
    pchain.wait(60)

    assert ask(rpc, subnetID=subnet) == [
        {
            "txID": str(tx.tx_id),
            "startTime": str(period.start),
            "endTime": str(period.end),
            "weight": "20",
            "stakeAmount": "20",
            "nodeID": str(pchain.node_id),
            "delegationFee": "0.0000",
            "uptime": "1.0000",
            "connected": True,
        }
    ]
    assert ask(rpc, subnetID=subnet, nodeIDs=[str(pchain.node_id)]) == ask(rpc, subnetID=subnet)


def test_a_permissionless_validator_shows_both_owners(pchain: PChain, rpc: Rpc) -> None:
    weight = platform.CONFIG.min_validator_stake
    tx = pchain.make(
        AddPermissionlessValidatorTx,
        stake=pchain.stake(weight),
        validator=platform.validator(node_id=NODE, start=0, end=pchain.now + 14 * DAY),
        delegation_rewards_owner=platform.owners(platform.ADDRESSES[1], locktime=9, threshold=1),
        validation_rewards_owner=platform.owners(EWOQ),
    )
    pchain.do(tx)

    (record,) = ask(rpc, nodeIDs=[str(NODE)])
    assert record["startTime"] == str(pchain.now)
    assert record["rewardOwner"] == record["validationRewardOwner"] == OWNER
    assert record["delegationRewardOwner"] == {
        "locktime": "9",
        "threshold": "1",
        "addresses": [format_address("P", "local", platform.ADDRESSES[1])],
    }
    assert record["signer"]["publicKey"] == "0x" + platform.proof_of_possession().public_key.hex()


def test_an_unknown_subnet_has_no_validators(rpc: Rpc) -> None:
    assert ask(rpc, subnetID=str(platform.SUBNET_ID)) == []


@pytest.mark.parametrize("params", [{"subnetID": "x"}, {"nodeIDs": ["x"]}, {"nodeIDs": "x"}])
def test_ids_must_be_ids(rpc: Rpc, params: dict[str, Any]) -> None:
    with pytest.raises(JsonRpcError, match="couldn't unmarshal an argument"):
        ask(rpc, **params)
