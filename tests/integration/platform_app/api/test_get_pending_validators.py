"""platform.getPendingValidators."""

from platform_app.config import DAY
from platform_app.txs.staking import AddDelegatorTx, AddPermissionlessValidatorTx
from platform_app.txs.subnets import AddSubnetValidatorTx, CreateSubnetTx
from primitives.ids import NodeID
from tests.builders import platform
from tests.integration.platform_app.conftest import EWOQ, PChain, Rpc

NODE = NodeID(b"n" * 20)


def test_new_network_has_no_pending_validators(rpc: Rpc) -> None:
    assert rpc("platform.getPendingValidators") == {"validators": [], "delegators": []}


def test_pending_validators_and_delegators_are_listed_until_start(pchain: PChain, rpc: Rpc) -> None:
    weight = platform.CONFIG.min_validator_stake
    start, end = pchain.now + 600, pchain.now + 600 + 14 * DAY
    validator = pchain.do(
        pchain.make(
            AddPermissionlessValidatorTx,
            stake=pchain.stake(weight),
            validator=platform.validator(node_id=NODE, start=start, end=end),
            shares=200_000,
        )
    )
    delegator = pchain.do(
        pchain.make(
            AddDelegatorTx,
            stake=pchain.stake(25_000_000),
            validator=platform.validator(
                node_id=NODE, start=start + 1, end=end - 1, weight=25_000_000
            ),
        )
    )
    signer = platform.proof_of_possession()
    assert rpc("platform.getPendingValidators") == {
        "validators": [
            {
                "txID": str(validator.tx_id),
                "startTime": str(start),
                "endTime": str(end),
                "weight": str(weight),
                "stakeAmount": str(weight),
                "nodeID": str(NODE),
                "connected": False,
                "delegationFee": "20.0000",
                "signer": {
                    "publicKey": "0x" + signer.public_key.hex(),
                    "proofOfPossession": "0x" + signer.proof_of_possession.hex(),
                },
            }
        ],
        "delegators": [
            {
                "txID": str(delegator.tx_id),
                "startTime": str(start + 1),
                "endTime": str(end - 1),
                "weight": "25000000",
                "stakeAmount": "25000000",
                "nodeID": str(NODE),
            }
        ],
    }
    pchain.wait(start - pchain.now)
    pending = rpc("platform.getPendingValidators")
    assert (len(pending["validators"]), len(pending["delegators"])) == (0, 1)
    assert rpc("platform.getPendingValidators", nodeIDs=[str(NODE)]) == {
        "validators": [],
        "delegators": [],
    }


def test_a_subnets_pending_validator_has_no_fee(pchain: PChain, rpc: Rpc) -> None:
    subnet = pchain.do(pchain.make(CreateSubnetTx, owner=platform.owners(EWOQ))).tx_id
    period = platform.subnet_validator(
        node_id=pchain.node_id, subnet_id=subnet, start=pchain.now + 60, end=pchain.now + 60 + DAY
    )
    pchain.do(pchain.make(AddSubnetValidatorTx, validator=period))

    found = rpc("platform.getPendingValidators", subnetID=str(subnet))
    (record,) = found["validators"]
    assert (record["weight"], record["connected"]) == ("20", True)
    assert "delegationFee" not in record
    assert found["delegators"] == []
