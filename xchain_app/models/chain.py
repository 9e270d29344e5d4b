"""The chain itself, its blocks and their transactions, and pending and dropped transactions."""

from django.db import models
from typing_extensions import override

from chaindb.fields import BytesField, IDField, RowIdField, UInt64Field


class XTxKind(models.IntegerChoices):
    """Types of transactions, with the protocol's names."""

    BASE = 0, "BaseTx"
    CREATE_ASSET = 1, "CreateAssetTx"
    OPERATION = 2, "OperationTx"
    IMPORT = 3, "ImportTx"
    EXPORT = 4, "ExportTx"


class XChain(models.Model):
    """Single row: the chain that this database holds, and its last accepted block."""

    chain_id = IDField(primary_key=True, help_text="The blockchain ID")
    fee_asset_id = IDField(help_text="The first asset of the genesis, in which fees are paid")
    stop_vertex_id = IDField(help_text="The vertex after which the chain is linear")
    height = models.BigIntegerField(help_text="Height of the last accepted block")
    tip = IDField(help_text="ID of the last accepted block")
    timestamp = models.BigIntegerField(help_text="Chain time in Unix seconds")

    class Meta:
        verbose_name = "X-Chain"

    @override
    def __str__(self) -> str:
        return str(self.chain_id)


class XBlock(models.Model):
    """An accepted block; the row with the greatest height is the tip."""

    height = RowIdField(primary_key=True)
    block_id = IDField(unique=True)
    parent_id = IDField()
    time = models.BigIntegerField(db_index=True, help_text="Unix seconds")
    tx_count = models.IntegerField()
    raw = BytesField(help_text="The serialised block; its SHA-256 is the block ID")

    class Meta:
        ordering = ["-height"]
        verbose_name = "block"

    @override
    def __str__(self) -> str:
        return f"#{self.height}"


class XTransaction(models.Model):
    """An accepted transaction. The assets of the genesis have height 0."""

    id = RowIdField(primary_key=True)
    tx_id = IDField(unique=True)
    height = models.BigIntegerField(help_text="Height of the block that contains it")
    index = models.IntegerField(help_text="Index in the block")
    kind = models.SmallIntegerField(choices=XTxKind)
    peer_chain = IDField(
        null=True, help_text="The chain from which it imports or to which it exports"
    )
    burned = UInt64Field(help_text="Burned amount of the fee asset, in the smallest units")
    memo = BytesField()
    raw = BytesField(help_text="The signed transaction; its SHA-256 is the transaction ID")

    class Meta:
        ordering = ["-id"]
        verbose_name = "transaction"
        indexes = [models.Index(fields=["kind", "id"], name="xchain_tx_by_kind")]

    @override
    def __str__(self) -> str:
        return str(self.tx_id)


class XMempoolTx(models.Model):
    """An acknowledged transaction that is in no block yet; keys increase in order of arrival."""

    id = models.BigAutoField(primary_key=True)
    tx_id = IDField(unique=True)
    kind = models.SmallIntegerField(choices=XTxKind)
    size = models.IntegerField(help_text="Size of the signed transaction in bytes")
    received_at = models.BigIntegerField(help_text="Time of arrival in Unix seconds")
    raw = BytesField(help_text="The signed transaction")

    class Meta:
        ordering = ["id"]
        verbose_name = "pending transaction"
        indexes = [models.Index(fields=["size"], name="xchain_mempool_size")]

    @override
    def __str__(self) -> str:
        return str(self.tx_id)


class XMempoolInput(models.Model):
    """An output, of this chain or shared, that a pending transaction spends."""

    utxo_id = IDField(primary_key=True, help_text="At most one pending transaction spends it")
    waiting = models.ForeignKey(
        XMempoolTx, models.CASCADE, to_field="tx_id", related_name="inputs", db_constraint=False
    )

    @override
    def __str__(self) -> str:
        return f"{self.utxo_id} for {self.waiting_id}"


class XDroppedTx(models.Model):
    """A transaction that was refused since the last accepted block, with the reason; only the latest are kept."""

    id = models.BigAutoField(primary_key=True)
    tx_id = IDField(unique=True)
    reason = models.TextField()
    dropped_at = models.BigIntegerField(help_text="Time of the refusal in Unix seconds")

    class Meta:
        ordering = ["-id"]
        verbose_name = "dropped transaction"

    @override
    def __str__(self) -> str:
        return str(self.tx_id)
