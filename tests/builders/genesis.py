"""A small genesis in the reference's file format: two holders, two validators with equal stakes."""

from copy import deepcopy
from typing import Any

from primitives.addresses import format_address
from primitives.ids import NodeID
from tests.builders.platform import ADDRESSES, NETWORK_ID, NOW, proof_of_possession

HOLDER, STAKED, REWARDED = ADDRESSES[0], ADDRESSES[1], ADDRESSES[2]
NODE_IDS = (NodeID(b"\x01" * 20), NodeID(b"\x02" * 20))
YEAR = 365 * 24 * 60 * 60


def address(short_id: Any) -> str:
    """Return an address in the format of the file."""
    return format_address("X", "local", short_id)


def staker(number: int, **changes: Any) -> dict[str, Any]:
    """Return a validator of the file."""
    proof = proof_of_possession(number + 1)
    fields: dict[str, Any] = {
        "nodeID": str(NODE_IDS[number]),
        "rewardAddress": address(REWARDED),
        "delegationFee": 20_000,
        "signer": {
            "publicKey": f"0x{proof.public_key.hex()}",
            "proofOfPossession": f"0x{proof.proof_of_possession.hex()}",
        },
    }
    return fields | changes


def document(**changes: Any) -> dict[str, Any]:
    """Return the decoded file with the changes."""
    fields: dict[str, Any] = {
        "networkID": NETWORK_ID,
        "allocations": [
            {
                "ethAddr": f"0x{'11' * 20}",
                "avaxAddr": address(HOLDER),
                "initialAmount": 500,
                "unlockSchedule": [
                    {"amount": 1_000},
                    {"amount": 0},
                    {"amount": 2_000, "locktime": NOW + 5},
                    {"amount": 3_000, "locktime": NOW},
                ],
            },
            {
                "ethAddr": f"0x{'22' * 20}",
                "avaxAddr": address(STAKED),
                "initialAmount": 0,
                "unlockSchedule": [{"amount": 4_001, "locktime": NOW + 9}],
            },
        ],
        "startTime": NOW,
        "initialStakeDuration": YEAR,
        "initialStakeDurationOffset": 5_400,
        "initialStakedFunds": [address(STAKED)],
        "initialStakers": [staker(0), staker(1)],
        "cChainGenesis": '{"config":{}}',
        "message": "begin",
    }
    return deepcopy(fields | changes)
