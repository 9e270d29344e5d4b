"""Atomic transactions: accepted, waiting and dropped ones, and the withdrawals with which imports credit accounts."""

from django.db import models
from typing_extensions import override

from chaindb.fields import (
    AddressField,
    BytesField,
    IDField,
    RowIdField,
    UInt64Field,
    UInt256Field,
    WordField,
)


class AtomicKind(models.IntegerChoices):
    """The types of atomic transactions, by their type IDs."""

    IMPORT = 0, "ImportTx"
    EXPORT = 1, "ExportTx"


class AtomicTransaction(models.Model):
    """An atomic transaction of an accepted block's payload."""

    tx_id = IDField(primary_key=True)
    block_number = models.BigIntegerField(db_index=True)
    index = models.IntegerField(help_text="Index in the payload")
    kind = models.SmallIntegerField(choices=AtomicKind)
    peer_chain = IDField(help_text="The chain that it imports from or exports to")
    amount = UInt64Field(help_text="Units that arrive: credited to accounts, or exported")
    burned = UInt64Field(help_text="Units that neither chain has any longer")
    gas = models.BigIntegerField()
    raw = BytesField(help_text="Signed bytes; their SHA-256 is the ID")
    position = models.BigIntegerField(
        null=True, help_text="Key in the chain's order: block and index in the payload"
    )

    class Meta:
        ordering = ["-block_number", "index"]
        indexes = [models.Index(fields=["position"], name="cchain_atomic_in_order")]

    @override
    def __str__(self) -> str:
        return str(self.tx_id)


class Withdrawal(models.Model):
    """A withdrawal (EIP-4895) of an accepted block: one output of an import."""

    index = RowIdField(primary_key=True)
    block_number = models.BigIntegerField(db_index=True)
    validator_index = models.BigIntegerField(help_text="Index of the import in the payload")
    address = AddressField()
    amount_gwei = UInt64Field()
    tx_id = IDField(help_text="The import")

    class Meta:
        ordering = ["-index"]
        indexes = [models.Index(fields=["address", "index"], name="cchain_withdrawal_to")]

    @override
    def __str__(self) -> str:
        return f"withdrawal {self.index}"


class AtomicPoolTransaction(models.Model):
    """An acknowledged atomic transaction that is in no block yet; keys increase in order of arrival."""

    id = models.BigAutoField(primary_key=True)
    tx_id = IDField(unique=True)
    price = UInt256Field(db_index=True, help_text="What it burns for each gas, in wei")
    received_at = models.BigIntegerField(help_text="Wall-clock time of arrival, in Unix seconds")
    raw = BytesField(help_text="Signed bytes")

    class Meta:
        ordering = ["id"]
        verbose_name = "pending atomic transaction"

    @override
    def __str__(self) -> str:
        return str(self.tx_id)


class AtomicPoolKey(models.Model):
    """An output, or a nonce of an account, that a pending atomic transaction spends. Each is in the pool once."""

    key = WordField(primary_key=True)
    tx_id = IDField(db_index=True)

    @override
    def __str__(self) -> str:
        return f"key of {self.tx_id}"


class DroppedAtomicTransaction(models.Model):
    """An atomic transaction that left the pool without a block; the last ones are kept."""

    id = models.BigAutoField(primary_key=True)
    tx_id = IDField(unique=True)
    reason = models.TextField()
    dropped_at = models.BigIntegerField(help_text="Wall-clock time, in Unix seconds")
    raw = BytesField(help_text="Signed bytes")

    class Meta:
        ordering = ["-id"]

    @override
    def __str__(self) -> str:
        return str(self.tx_id)
