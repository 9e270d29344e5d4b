"""Run scenarios of `tests/clients/platform.mjs` with a node and a key, and create validators for them."""

import json
import secrets
import ssl
import time
from typing import Any

from primitives import bls
from primitives.identity import make_certificate, node_id_of
from primitives.ids import NodeID
from tests.e2e.conftest import node_script
from tests.e2e.platform_wallet import UNIT
from tests.servers.node import RunningNode

JS5 = "avalanchejs5"
JS4 = "avalanchejs4"
OLD = "avalanche3"
"""The package avalanche 3.16. It has no transfers, and it sends a start time for its stakers."""
ALL = (JS5, JS4, OLD)

DAY = 24 * 60 * 60
STAKE = 2_000 * UNIT
DELEGATED = 25 * UNIT
SOON = 15 * 60
"""Seconds until stakers start. No test waits that long; each test checks them before they start."""
SHARES = 20_000
"""A delegation fee of 2 %, in parts per million."""

FEES = {
    "baseTxFee": 1_000,
    "createAssetTxFee": 10_000,
    "createSubnetTxFee": 100_000,
    "transformSubnetTxFee": 10_000_000,
    "createBlockchainTxFee": 100_000,
    "addPrimaryNetworkValidatorFee": 0,
    "addPrimaryNetworkDelegatorFee": 0,
    "addSubnetValidatorFee": 1_000,
    "addSubnetDelegatorFee": 1_000,
}
"""The static fees of the local network, under the names used by version 4."""


class Sdk:
    """An SDK with a node and the key that pays."""

    def __init__(self, library: str, node: RunningNode, key: bytes) -> None:
        self.library = library
        self._given = {
            "url": f"http://127.0.0.1:{node.port}",
            "networkID": 12345,
            "fees": FEES,
            "keys": [hexed(key)],
        }

    def run(self, scenario: str, **given: Any) -> Any:
        """Run a scenario and return its result."""
        return node_script("run.mjs", self.library, scenario, json.dumps(self._given | given))


def hexed(key: bytes) -> str:
    """Return a private key in the format that the scripts expect."""
    return "0x" + key.hex()


def soon() -> int:
    """Return a start time that is still in the future after a slow machine has built and issued the staker."""
    return int(time.time()) + SOON


def new_node_id() -> NodeID:
    """Return the ID of a node that does not exist."""
    certificate = make_certificate(int(time.time())).certificate_pem.decode()
    return node_id_of(ssl.PEM_cert_to_DER_cert(certificate))


def new_validator(start: int, rewards: str) -> dict[str, Any]:
    """Return the parameters that make a nonexistent node a validator for 15 days."""
    secret = b"\0" + secrets.token_bytes(31)
    return {
        "nodeID": str(new_node_id()),
        "publicKey": "0x" + bls.public_key(secret).hex(),
        "proof": "0x" + bls.prove_possession(secret).hex(),
        "start": start,
        "end": start + 15 * DAY,
        "weight": STAKE,
        "shares": SHARES,
        "rewards": [rewards],
    }
