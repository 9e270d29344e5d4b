from django.db import migrations, models

import chaindb.fields

_WAITING = """
INSERT INTO shared_app_chaintransfer
(utxo_id, source_chain, destination_chain, tx_id, output_index, asset_id, amount, exported_height)
SELECT utxo_id, source_chain, destination_chain, tx_id, output_index, asset_id, amount, height
FROM platform_app_sharedutxo
"""
_IMPORTED_EARLY = """
INSERT INTO shared_app_chaintransfer (utxo_id, source_chain, destination_chain, imported_height)
SELECT utxo_id, source_chain, destination_chain, height FROM shared_app_earlyimport
"""


class Migration(migrations.Migration):
    """Add the history of transfers, which begins with the outputs that wait now."""

    dependencies = [("shared_app", "0001_initial"), ("platform_app", "0006_shared_outputs_moved")]

    operations = [
        migrations.CreateModel(
            name="ChainTransfer",
            fields=[
                ("utxo_id", chaindb.fields.IDField(primary_key=True, serialize=False)),
                ("source_chain", chaindb.fields.IDField(help_text="The blockchain that exported it")),
                ("destination_chain", chaindb.fields.IDField(help_text="The blockchain that can import it")),
                ("tx_id", chaindb.fields.IDField(help_text="The transaction that exported it", null=True)),
                ("output_index", models.BigIntegerField(null=True)),
                ("asset_id", chaindb.fields.IDField(null=True)),
                ("amount", chaindb.fields.UInt64Field(null=True)),
                ("exported_height", models.BigIntegerField(help_text="Height of the exporting block", null=True)),
                ("import_tx", chaindb.fields.IDField(help_text="The transaction that imported it; unknown for imports of versions before 0.2", null=True)),
                ("imported_height", models.BigIntegerField(help_text="Height of the importing block", null=True)),
            ],
            options={
                "verbose_name": "transfer",
                "ordering": ["utxo_id"],
                "indexes": [
                    models.Index(fields=["tx_id", "output_index"], name="shared_transfer_by_export"),
                    models.Index(fields=["import_tx"], name="shared_transfer_by_import"),
                ],
            },
        ),
        migrations.RunSQL([_WAITING, _IMPORTED_EARLY], migrations.RunSQL.noop),
    ]
