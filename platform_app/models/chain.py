"""The chain itself, its blocks and their transactions, and pending and dropped transactions."""

from django.db import models
from django.db.models import Q
from typing_extensions import override

from chaindb.fields import BytesField, IDField, RowIdField, UInt64Field


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


class Chain(models.Model):
    """Single row: the chain that this database holds, and its last accepted block."""

    genesis_hash = IDField(primary_key=True, help_text="SHA-256 of the genesis bytes")
    network_id = models.BigIntegerField()
    unit = models.BigIntegerField(help_text="Number of smallest units in a coin")
    asset_id = IDField(help_text="The asset that fees and the Primary Network's stake are paid in")
    x_chain_id = IDField()
    c_chain_id = IDField()
    height = models.BigIntegerField(help_text="Height of the last accepted block")
    tip = IDField(help_text="ID of the last accepted block")
    timestamp = models.BigIntegerField(help_text="Chain time in Unix seconds")
    gas_capacity = UInt64Field()
    gas_excess = UInt64Field()
    # Null before the first block of a version with L1s; it means 0.
    l1_excess = UInt64Field(null=True, help_text="Excess of the continuous fee of L1 validators")
    l1_accrued_fees = UInt64Field(
        null=True, help_text="What a validator of an L1 that was always active would have paid"
    )
    l1_active = models.IntegerField(null=True, help_text="Number of active validators of L1s")
    l1_expiries = models.IntegerField(
        null=True, help_text="Number of used registration messages that have not expired"
    )
    stakers_height = models.BigIntegerField(
        help_text="Height of the last block that changed a staker; caches of stakers hold the state after it"
    )

    @override
    def __str__(self) -> str:
        return f"network {self.network_id}"


class Genesis(models.Model):
    """Single row: the genesis bytes of the chain, for nodes that want to start the same chain.

    It is separate from the chain's row, which every block updates, because it can be megabytes large. The
    row is missing if the chain was created before genesis bytes were stored.
    """

    genesis_hash = IDField(primary_key=True, help_text="SHA-256 of the genesis bytes")
    raw = BytesField(help_text="The genesis bytes")

    class Meta:
        verbose_name_plural = "genesis"

    @override
    def __str__(self) -> str:
        return str(self.genesis_hash)


class Supply(models.Model):
    """The supply of a subnet's staked asset, potential rewards included."""

    subnet_id = IDField(primary_key=True)
    amount = UInt64Field()

    class Meta:
        verbose_name_plural = "supplies"

    @override
    def __str__(self) -> str:
        return f"supply of {self.subnet_id}"


class Block(models.Model):
    """An accepted block; the row with the greatest height is the tip."""

    height = RowIdField(primary_key=True)
    block_id = IDField(unique=True)
    parent_id = IDField()
    time = models.BigIntegerField(
        db_index=True, help_text="Chain time after the block, in Unix seconds"
    )
    kind = models.SmallIntegerField(choices=BlockKind)
    tx_count = models.IntegerField()
    raw = BytesField(help_text="The serialised block; its SHA-256 is the block ID")

    class Meta:
        ordering = ["-height"]

    @override
    def __str__(self) -> str:
        return f"#{self.height}"


class Tx(models.Model):
    """An accepted transaction. Genesis transactions have height 0."""

    COMMITTED = 4
    ABORTED = 5

    id = RowIdField(primary_key=True)
    tx_id = IDField(unique=True)
    height = models.BigIntegerField(help_text="Height of the block that contains it")
    index = models.IntegerField(help_text="Index in the block; a proposal comes last")
    kind = models.SmallIntegerField(choices=TxKind)
    status = models.SmallIntegerField(choices=[(COMMITTED, "Committed"), (ABORTED, "Aborted")])
    burned = UInt64Field(help_text="Burned amount of the staking asset, in the smallest units")
    raw = BytesField(help_text="The signed transaction; its SHA-256 is the transaction ID")

    class Meta:
        ordering = ["-id"]
        verbose_name = "transaction"
        indexes = [models.Index(fields=["kind", "id"], name="platform_tx_by_kind")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=[4, 5]), name="platform_tx_is_decided"
            ),
        ]

    @override
    def __str__(self) -> str:
        return str(self.tx_id)


class MempoolTx(models.Model):
    """An acknowledged transaction that is in no block yet; keys increase in order of arrival."""

    id = models.BigAutoField(primary_key=True)
    tx_id = IDField(unique=True)
    kind = models.SmallIntegerField(choices=TxKind)
    size = models.IntegerField(help_text="Size of the signed transaction in bytes")
    received_at = models.BigIntegerField(help_text="Time of arrival in Unix seconds")
    gas_price = models.FloatField(
        null=True,
        help_text="Burned amount per gas, where blocks take the highest price first; else null",
    )
    raw = BytesField(help_text="The signed transaction")

    class Meta:
        ordering = ["id"]
        verbose_name = "pending transaction"
        indexes = [
            models.Index(fields=["size"], name="platform_mempool_size"),
            models.Index(
                fields=["-gas_price", "id"],
                name="platform_mempool_price",
                condition=Q(gas_price__isnull=False),
            ),
        ]

    @override
    def __str__(self) -> str:
        return str(self.tx_id)


class MempoolInput(models.Model):
    """An output, of this chain or shared, that a pending transaction spends."""

    utxo_id = IDField(primary_key=True, help_text="At most one pending transaction spends it")
    waiting = models.ForeignKey(
        MempoolTx, models.CASCADE, to_field="tx_id", related_name="inputs", db_constraint=False
    )

    @override
    def __str__(self) -> str:
        return f"{self.utxo_id} for {self.waiting_id}"


class DroppedTx(models.Model):
    """A recently dropped transaction with the reason; only the most recent ones are kept."""

    id = models.BigAutoField(primary_key=True)
    tx_id = IDField(unique=True)
    reason = models.TextField()
    dropped_at = models.BigIntegerField(help_text="Time of the drop in Unix seconds")

    class Meta:
        ordering = ["-id"]
        verbose_name = "dropped transaction"

    @override
    def __str__(self) -> str:
        return str(self.tx_id)
