from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the indexes of the explorer's pages of addresses and assets."""

    dependencies = [("xchain_app", "0002_sql_views")]

    operations = [
        migrations.AddIndex(
            model_name="xoutput",
            index=models.Index(
                condition=models.Q(("spent_height__isnull", True)),
                fields=["asset_id", "kind", "amount", "utxo_id"],
                name="xchain_unspent_of_asset",
            ),
        ),
        migrations.AddIndex(
            model_name="xaddresstx",
            index=models.Index(fields=["address", "position"], name="xchain_tx_of_address"),
        ),
    ]
