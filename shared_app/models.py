"""Outputs that wait between chains, imports accepted before their exports, and both ends of finished transfers."""

from django.db import models
from typing_extensions import override

from chaindb.fields import BytesField, IDField, ShortIDField, UInt64Field


class SharedOutput(models.Model):
    """An output that one chain has exported and the other has not imported yet."""

    utxo_id = IDField(primary_key=True)
    tx_id = IDField()
    output_index = models.BigIntegerField()
    asset_id = IDField()
    amount = UInt64Field()
    locktime = UInt64Field(help_text="Unix seconds before which the owners cannot sign; 0: no lock")
    threshold = models.BigIntegerField(help_text="Number of owners that must sign")
    height = models.BigIntegerField(help_text="Height of the block that created it")
    output = BytesField(help_text="The output as serialised in transactions, with its type ID")
    source_chain = IDField(help_text="The blockchain that exported it")
    destination_chain = IDField(help_text="The blockchain that can import it")

    class Meta:
        # The table was the P-Chain's.
        db_table = "platform_app_sharedutxo"
        ordering = ["utxo_id"]
        verbose_name = "shared UTXO"

    @override
    def __str__(self) -> str:
        return f"{self.tx_id}:{self.output_index}"


class SharedOwner(models.Model):
    """An address that may sign for a shared output."""

    pk = models.CompositePrimaryKey("destination_chain", "source_chain", "address", "utxo_id")
    destination_chain = IDField()
    source_chain = IDField()
    address = ShortIDField()
    utxo = models.ForeignKey(
        SharedOutput, models.PROTECT, related_name="owners", db_index=False, db_constraint=False
    )

    class Meta:
        db_table = "platform_app_sharedutxoowner"

    @override
    def __str__(self) -> str:
        return f"{self.address} of {self.utxo_id}"


class EarlyImport(models.Model):
    """An output that a chain has imported before this node has executed the block that exports it.

    The export then removes this row instead of adding a shared output (a "tombstone", atomic.md 2). These rows come and
    go while a node bootstraps one chain before the other, or follows other nodes' decisions.
    """

    utxo_id = IDField(primary_key=True)
    source_chain = IDField(help_text="The blockchain that will have exported it")
    destination_chain = IDField(help_text="The blockchain that has imported it")
    height = models.BigIntegerField(help_text="Height of the importing block")

    class Meta:
        ordering = ["utxo_id"]

    @override
    def __str__(self) -> str:
        return f"import of {self.utxo_id}"


class ChainTransfer(models.Model):
    """An output that one chain has exported to another one; the row remains after the import.

    The export is empty while this node has executed only the import (`EarlyImport`), the import while the output waits.
    """

    utxo_id = IDField(primary_key=True)
    source_chain = IDField(help_text="The blockchain that exported it")
    destination_chain = IDField(help_text="The blockchain that can import it")
    tx_id = IDField(null=True, help_text="The transaction that exported it")
    output_index = models.BigIntegerField(null=True)
    asset_id = IDField(null=True)
    amount = UInt64Field(null=True)
    exported_height = models.BigIntegerField(null=True, help_text="Height of the exporting block")
    import_tx = IDField(
        null=True,
        help_text="The transaction that imported it; unknown for imports of versions before 0.2",
    )
    imported_height = models.BigIntegerField(null=True, help_text="Height of the importing block")

    class Meta:
        ordering = ["utxo_id"]
        verbose_name = "transfer"
        indexes = [
            models.Index(fields=["tx_id", "output_index"], name="shared_transfer_by_export"),
            models.Index(fields=["import_tx"], name="shared_transfer_by_import"),
        ]

    @override
    def __str__(self) -> str:
        return f"transfer of {self.utxo_id}"
