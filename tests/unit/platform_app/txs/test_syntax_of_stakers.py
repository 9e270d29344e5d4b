"""Syntactic rules of transactions about stakers and subnets."""

import pytest

from platform_app.txs import l1, staking, subnets
from platform_app.txs.base import AuthInput, EmptySigner
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import EMPTY_ID, EMPTY_NODE_ID, PRIMARY_NETWORK_ID
from tests.builders.platform import (
    ADDRESSES,
    CONFIG,
    OTHER_ASSET_ID,
    SUBNET_ID,
    output,
    outputs,
    subnet_validator,
    validator,
)
from tests.builders.refusals import FORGED, Refusal, owner
from utxo.errors import UtxoReason

MAX = 2**64 - 1
STAKE = CONFIG.min_validator_stake
DELEGATED = CONFIG.min_delegator_stake
LOW = ADDRESSES[0]
STAKING = [
    *(
        Refusal(
            cls,
            {"shares": 1_000_001},
            TxSyntaxReason.TOO_MANY_SHARES,
            "a staker can only require at most 1000000 shares from delegators",
        )
        for cls in (staking.AddValidatorTx, staking.AddPermissionlessValidatorTx)
    ),
    *(
        Refusal(
            cls,
            {"validator": validator(weight=0)},
            TxSyntaxReason.VALIDATOR_WEIGHT_TOO_LOW,
            "weight of this validator is too low",
        )
        for cls in (
            staking.AddValidatorTx,
            staking.AddDelegatorTx,
            staking.AddPermissionlessValidatorTx,
            staking.AddPermissionlessDelegatorTx,
        )
    ),
    *(
        Refusal(
            cls,
            {"validator": validator(node_id=EMPTY_NODE_ID)},
            TxSyntaxReason.EMPTY_NODE_ID,
            "validator nodeID cannot be empty",
        )
        for cls in (staking.AddValidatorTx, staking.AddPermissionlessValidatorTx)
    ),
    *(
        Refusal(
            cls,
            {"stake": (output(STAKE, asset_id=OTHER_ASSET_ID),)},
            TxSyntaxReason.STAKE_NOT_STAKING_ASSET,
            f'stake must be AVAX but is "{OTHER_ASSET_ID}"',
        )
        for cls in (staking.AddValidatorTx, staking.AddDelegatorTx)
    ),
    *(
        Refusal(
            cls,
            {"stake": outputs(STAKE - 1)},
            TxSyntaxReason.VALIDATOR_WEIGHT_MISMATCH,
            f"validator weight mismatch: weight {STAKE} != stake {STAKE - 1}",
        )
        for cls in (staking.AddValidatorTx, staking.AddPermissionlessValidatorTx)
    ),
    *(
        Refusal(
            cls,
            {"stake": outputs(DELEGATED + 1)},
            TxSyntaxReason.DELEGATOR_WEIGHT_MISMATCH,
            "delegator weight is not equal to total stake weight, "
            f"delegator weight {DELEGATED} total stake weight {DELEGATED + 1}",
        )
        for cls in (staking.AddDelegatorTx, staking.AddPermissionlessDelegatorTx)
    ),
    *(
        Refusal(cls, {"stake": ()}, TxSyntaxReason.NO_STAKE, "no stake")
        for cls in (staking.AddPermissionlessValidatorTx, staking.AddPermissionlessDelegatorTx)
    ),
    *(
        Refusal(
            cls,
            {"stake": (output(1), output(1, asset_id=OTHER_ASSET_ID))},
            TxSyntaxReason.MULTIPLE_STAKED_ASSETS,
            "multiple staked assets",
        )
        for cls in (staking.AddPermissionlessValidatorTx, staking.AddPermissionlessDelegatorTx)
    ),
    *(
        Refusal(cls, {"stake": outputs(MAX, 1)}, UtxoReason.SUM_OVERFLOW, "overflow")
        for cls in (staking.AddValidatorTx, staking.AddPermissionlessDelegatorTx)
    ),
    *(
        Refusal(
            cls, {"stake": outputs(1, 2)[::-1]}, UtxoReason.OUTPUTS_NOT_SORTED, "outputs not sorted"
        )
        for cls in (
            staking.AddValidatorTx,
            staking.AddDelegatorTx,
            staking.AddPermissionlessValidatorTx,
            staking.AddPermissionlessDelegatorTx,
        )
    ),
    *(
        Refusal(cls, {name: owner(2, LOW)}, UtxoReason.UNSPENDABLE_OUTPUT, "output is unspendable")
        for cls, name in (
            (staking.AddValidatorTx, "rewards_owner"),
            (staking.AddDelegatorTx, "rewards_owner"),
            (staking.AddPermissionlessValidatorTx, "validation_rewards_owner"),
            (staking.AddPermissionlessValidatorTx, "delegation_rewards_owner"),
            (staking.AddPermissionlessDelegatorTx, "rewards_owner"),
            (subnets.CreateSubnetTx, "owner"),
            (subnets.TransferSubnetOwnershipTx, "new_owner"),
        )
    ),
    Refusal(
        staking.AddPermissionlessValidatorTx,
        {"signer": EmptySigner()},
        TxSyntaxReason.MISSING_KEY,
        "invalid signer: hasKey=false != isPrimaryNetwork=true",
    ),
    Refusal(
        staking.AddPermissionlessValidatorTx,
        {"subnet_id": SUBNET_ID},
        TxSyntaxReason.KEY_OUTSIDE_PRIMARY_NETWORK,
        "invalid signer: hasKey=true != isPrimaryNetwork=false",
    ),
    Refusal(
        staking.AddPermissionlessValidatorTx,
        {"signer": FORGED},
        TxSyntaxReason.INVALID_PROOF_OF_POSSESSION,
        "invalid proof of possession",
    ),
    Refusal(
        staking.RewardValidatorTx, {"tx_id": EMPTY_ID}, TxSyntaxReason.EMPTY_STAKER_ID, "invalid ID"
    ),
]
SUBNETS = [
    Refusal(
        subnets.AddSubnetValidatorTx,
        {"validator": subnet_validator(subnet_id=PRIMARY_NETWORK_ID)},
        TxSyntaxReason.ADD_TO_PRIMARY_NETWORK,
        "can't add primary network validator with AddSubnetValidatorTx",
    ),
    Refusal(
        subnets.AddSubnetValidatorTx,
        {"validator": subnet_validator(weight=0)},
        TxSyntaxReason.VALIDATOR_WEIGHT_TOO_LOW,
        "weight of this validator is too low",
    ),
    Refusal(
        subnets.RemoveSubnetValidatorTx,
        {"subnet_id": PRIMARY_NETWORK_ID},
        TxSyntaxReason.REMOVE_FROM_PRIMARY_NETWORK,
        "can't remove primary network validator with RemoveSubnetValidatorTx",
    ),
    Refusal(
        subnets.TransferSubnetOwnershipTx,
        {"subnet_id": PRIMARY_NETWORK_ID},
        TxSyntaxReason.TRANSFER_PERMISSIONLESS,
        "cannot transfer ownership of a permissionless subnet",
    ),
    *(
        Refusal(
            cls,
            {name: AuthInput((1, 0))},
            UtxoReason.INDICES_NOT_SORTED,
            "address indices not sorted and unique",
        )
        for cls, name in (
            (subnets.AddSubnetValidatorTx, "subnet_authorization"),
            (subnets.RemoveSubnetValidatorTx, "subnet_authorization"),
            (subnets.TransferSubnetOwnershipTx, "subnet_authorization"),
            (subnets.TransformSubnetTx, "subnet_authorization"),
            (CreateChainTx, "subnet_authorization"),
            (l1.ConvertSubnetToL1Tx, "subnet_authorization"),
            (l1.DisableL1ValidatorTx, "disable_authorization"),
            (l1.SetAutoRenewedValidatorConfigTx, "auth"),
        )
    ),
]


@pytest.mark.parametrize("refusal", [*STAKING, *SUBNETS], ids=lambda refusal: refusal.name)
def test_a_broken_rule_is_named(refusal: Refusal) -> None:
    refusal.verify()
