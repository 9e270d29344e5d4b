"""Transactions that wait for a block, and those that were dropped recently."""

from django.db import models
from typing_extensions import override

from chaindb.fields import BytesField, IDField
from platform_app.models.kinds import TxKind


class MempoolTx(models.Model):
    """An acknowledged transaction that is in no block yet; keys increase in order of arrival."""

    id = models.BigAutoField(primary_key=True)
    tx_id = IDField(unique=True)
    kind = models.SmallIntegerField(choices=TxKind)
    size = models.IntegerField(help_text="Bytes of the signed transaction")
    received_at = models.BigIntegerField(help_text="Unix seconds")
    raw = BytesField(help_text="The signed transaction")

    class Meta:
        ordering = ["id"]
        verbose_name = "waiting transaction"
        indexes = [models.Index(fields=["size"], name="platform_mempool_size")]

    @override
    def __str__(self) -> str:
        return str(self.tx_id)


class MempoolInput(models.Model):
    """An output, of this chain or shared, that a pending transaction spends."""

    utxo_id = IDField(primary_key=True, help_text="At most one waiting transaction spends it")
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
    dropped_at = models.BigIntegerField(help_text="Unix seconds")

    class Meta:
        ordering = ["-id"]
        verbose_name = "dropped transaction"

    @override
    def __str__(self) -> str:
        return str(self.tx_id)
