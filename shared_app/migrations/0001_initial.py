import chaindb.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Take the shared outputs over from the P-Chain, with their tables, and add early imports."""

    dependencies = [("platform_app", "0005_help_texts")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="SharedOutput",
                    fields=[
                        ("utxo_id", chaindb.fields.IDField(primary_key=True, serialize=False)),
                        ("tx_id", chaindb.fields.IDField()),
                        ("output_index", models.BigIntegerField()),
                        ("asset_id", chaindb.fields.IDField()),
                        ("amount", chaindb.fields.UInt64Field()),
                        ("locktime", chaindb.fields.UInt64Field(help_text="Unix seconds before which the owners cannot sign; 0: no lock")),
                        ("threshold", models.BigIntegerField(help_text="Number of owners that must sign")),
                        ("height", models.BigIntegerField(help_text="Height of the block that created it")),
                        ("output", chaindb.fields.BytesField(help_text="The output as serialised in transactions, with its type ID")),
                        ("source_chain", chaindb.fields.IDField(help_text="The blockchain that exported it")),
                        ("destination_chain", chaindb.fields.IDField(help_text="The blockchain that can import it")),
                    ],
                    options={
                        "verbose_name": "shared UTXO",
                        "db_table": "platform_app_sharedutxo",
                        "ordering": ["utxo_id"],
                    },
                ),
                migrations.CreateModel(
                    name="SharedOwner",
                    fields=[
                        ("pk", models.CompositePrimaryKey("destination_chain", "source_chain", "address", "utxo_id", blank=True, editable=False, primary_key=True, serialize=False)),
                        ("destination_chain", chaindb.fields.IDField()),
                        ("source_chain", chaindb.fields.IDField()),
                        ("address", chaindb.fields.ShortIDField()),
                        ("utxo", models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="owners", to="shared_app.sharedoutput")),
                    ],
                    options={"db_table": "platform_app_sharedutxoowner"},
                ),
            ],
        ),
        migrations.CreateModel(
            name="EarlyImport",
            fields=[
                ("utxo_id", chaindb.fields.IDField(primary_key=True, serialize=False)),
                ("source_chain", chaindb.fields.IDField(help_text="The blockchain that will have exported it")),
                ("destination_chain", chaindb.fields.IDField(help_text="The blockchain that has imported it")),
                ("height", models.BigIntegerField(help_text="Height of the importing block")),
            ],
            options={"ordering": ["utxo_id"]},
        ),
    ]
