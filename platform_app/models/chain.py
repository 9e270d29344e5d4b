"""The chain itself, its blocks, and the transactions in them."""

from django.db import models
from typing_extensions import override

from chaindb.fields import BytesField, IDField, RowIdField, UInt64Field
from platform_app.models.kinds import BlockKind, TxKind


class Chain(models.Model):
    """Single row: the chain that this database holds, and its last accepted block."""

    genesis_hash = IDField(primary_key=True, help_text="SHA-256 of the genesis bytes")
    network_id = models.BigIntegerField()
    unit = models.BigIntegerField(help_text="Smallest units of a coin")
    asset_id = IDField(help_text="The asset that fees and the Primary Network's stake are paid in")
    x_chain_id = IDField()
    c_chain_id = IDField()
    height = models.BigIntegerField(help_text="Of the last accepted block")
    tip = IDField(help_text="The last accepted block")
    timestamp = models.BigIntegerField(help_text="Chain time, Unix seconds")
    gas_capacity = UInt64Field()
    gas_excess = UInt64Field()
    stakers_height = models.BigIntegerField(
        help_text="The last block that changed a staker: what is remembered of stakers is as of it"
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
    time = models.BigIntegerField(db_index=True, help_text="Chain time after it, Unix seconds")
    kind = models.SmallIntegerField(choices=BlockKind)
    tx_count = models.IntegerField()
    raw = BytesField(help_text="The block's bytes: their SHA-256 is its ID")

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
    height = models.BigIntegerField(help_text="Of the block that it is in")
    index = models.IntegerField(help_text="Place in the block; a proposal comes last")
    kind = models.SmallIntegerField(choices=TxKind)
    status = models.SmallIntegerField(choices=[(COMMITTED, "Committed"), (ABORTED, "Aborted")])
    burned = UInt64Field(help_text="Of the staking asset, for good")
    raw = BytesField(help_text="The signed transaction: its SHA-256 is the transaction's ID")

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
