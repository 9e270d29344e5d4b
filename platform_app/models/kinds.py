"""Kinds of blocks and transactions: the numbers are the codec's type IDs (pchain.md 2.2)."""

from django.db import models


class BlockKind(models.IntegerChoices):
    """Types of blocks. New blocks are Banff blocks; the genesis block is an Apricot commit block."""

    APRICOT_PROPOSAL = 0, "Apricot proposal"
    APRICOT_ABORT = 1, "Apricot abort"
    APRICOT_COMMIT = 2, "Apricot commit"
    APRICOT_STANDARD = 3, "Apricot standard"
    APRICOT_ATOMIC = 4, "Apricot atomic"
    BANFF_PROPOSAL = 29, "Proposal"
    BANFF_ABORT = 30, "Abort"
    BANFF_COMMIT = 31, "Commit"
    BANFF_STANDARD = 32, "Standard"


class TxKind(models.IntegerChoices):
    """Types of transactions, with the protocol's names."""

    ADD_VALIDATOR = 12, "AddValidatorTx"
    ADD_SUBNET_VALIDATOR = 13, "AddSubnetValidatorTx"
    ADD_DELEGATOR = 14, "AddDelegatorTx"
    CREATE_CHAIN = 15, "CreateChainTx"
    CREATE_SUBNET = 16, "CreateSubnetTx"
    IMPORT = 17, "ImportTx"
    EXPORT = 18, "ExportTx"
    ADVANCE_TIME = 19, "AdvanceTimeTx"
    REWARD_VALIDATOR = 20, "RewardValidatorTx"
    REMOVE_SUBNET_VALIDATOR = 23, "RemoveSubnetValidatorTx"
    TRANSFORM_SUBNET = 24, "TransformSubnetTx"
    ADD_PERMISSIONLESS_VALIDATOR = 25, "AddPermissionlessValidatorTx"
    ADD_PERMISSIONLESS_DELEGATOR = 26, "AddPermissionlessDelegatorTx"
    TRANSFER_SUBNET_OWNERSHIP = 33, "TransferSubnetOwnershipTx"
    BASE = 34, "BaseTx"
    CONVERT_SUBNET_TO_L1 = 35, "ConvertSubnetToL1Tx"
    REGISTER_L1_VALIDATOR = 36, "RegisterL1ValidatorTx"
    SET_L1_VALIDATOR_WEIGHT = 37, "SetL1ValidatorWeightTx"
    INCREASE_L1_VALIDATOR_BALANCE = 38, "IncreaseL1ValidatorBalanceTx"
    DISABLE_L1_VALIDATOR = 39, "DisableL1ValidatorTx"
    ADD_AUTO_RENEWED_VALIDATOR = 40, "AddAutoRenewedValidatorTx"
    SET_AUTO_RENEWED_VALIDATOR_CONFIG = 41, "SetAutoRenewedValidatorConfigTx"
    REWARD_AUTO_RENEWED_VALIDATOR = 42, "RewardAutoRenewedValidatorTx"
