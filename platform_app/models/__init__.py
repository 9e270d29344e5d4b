"""Rows of the P-Chain. The store writes them; selectors and admin read them.

Rows created by a block are ordered by a key made of the block's height and a position in the block
(`chaindb.fields`). Outputs, stakers and subnets have their protocol identifier as primary key.
Partial indexes cover the small sets of current objects, so past objects add no cost to them.
"""

from platform_app.models.auto_renewal import AutoRenewedValidator, RenewedPeriod
from platform_app.models.chain import (
    Block,
    BlockKind,
    Chain,
    DroppedTx,
    Genesis,
    MempoolInput,
    MempoolTx,
    Supply,
    Tx,
    TxKind,
)
from platform_app.models.keystore import KeystoreKey, KeystoreUser
from platform_app.models.l1 import L1Conversion, L1Expiry, L1Validator, L1Weight
from platform_app.models.staking import (
    Blockchain,
    ConnectedNode,
    Delegator,
    Outcome,
    Phase,
    StakeOutput,
    Staker,
    Subnet,
    SubnetOwner,
    SubnetUptime,
    UptimeTracking,
    Validator,
    ValidatorUptime,
)
from platform_app.models.utxos import UTXO, RewardUTXO, UTXOOwner

__all__ = [
    "UTXO",
    "AutoRenewedValidator",
    "Block",
    "BlockKind",
    "Blockchain",
    "Chain",
    "ConnectedNode",
    "Delegator",
    "DroppedTx",
    "Genesis",
    "KeystoreKey",
    "KeystoreUser",
    "L1Conversion",
    "L1Expiry",
    "L1Validator",
    "L1Weight",
    "MempoolInput",
    "MempoolTx",
    "Outcome",
    "Phase",
    "RenewedPeriod",
    "RewardUTXO",
    "StakeOutput",
    "Staker",
    "Subnet",
    "SubnetOwner",
    "SubnetUptime",
    "Supply",
    "Tx",
    "TxKind",
    "UTXOOwner",
    "UptimeTracking",
    "Validator",
    "ValidatorUptime",
]
