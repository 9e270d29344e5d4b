"""Genesis files of EVM chains of subnets, as tools write them."""

import json
from typing import Any

from primitives.evm import Address
from tests.builders.transactions import SENDER

BALANCE = 5 * 10**21
"""Wei of the funded account."""
FEES = {
    "gasLimit": 12_000_000,
    "targetBlockRate": 2,
    "minBaseFee": 1_000_000_000,
    "targetGas": 15_000_000,
    "baseFeeChangeDenominator": 36,
    "minBlockGasCost": 0,
    "maxBlockGasCost": 1_000_000,
    "blockGasCostStep": 200_000,
}


def subnet_genesis(chain_id: int, *, funded: Address = SENDER, **of_config: Any) -> bytes:
    """Return the genesis file of a chain with one rich account.

    Args:
        chain_id: The EVM chain ID.
        funded: The account.
        of_config: Further entries of `config`.
    """
    document = {
        "config": {"chainId": chain_id, "feeConfig": FEES, **of_config},
        "timestamp": "0x6553f100",
        "gasLimit": hex(FEES["gasLimit"]),
        "difficulty": "0x0",
        "alloc": {funded.hex(): {"balance": hex(BALANCE)}},
    }
    return json.dumps(document).encode()
