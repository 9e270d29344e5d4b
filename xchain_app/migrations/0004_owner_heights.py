"""The height of each owner's output, by which an address's outputs are paged without reading all of them."""

from django.db import migrations, models

ADD = "ALTER TABLE xchain_app_xowner ADD COLUMN height bigint DEFAULT 0 NOT NULL"
FILL = (
    "UPDATE xchain_app_xowner SET height = (SELECT u.height FROM xchain_app_xoutput u "
    "WHERE u.utxo_id = xchain_app_xowner.utxo_id)"
)


class Migration(migrations.Migration):
    """Add and fill the column, and index it."""

    dependencies = [("xchain_app", "0003_explorer_indexes")]

    operations = [
        migrations.SeparateDatabaseAndState(
            # Django would copy the table on SQLite.
            database_operations=[
                migrations.RunSQL(ADD, "ALTER TABLE xchain_app_xowner DROP COLUMN height"),
                migrations.RunSQL(FILL, migrations.RunSQL.noop),
            ],
            state_operations=[
                migrations.AddField(
                    model_name="xowner",
                    name="height",
                    field=models.BigIntegerField(
                        default=0, help_text="Height of the block that created the output"
                    ),
                    preserve_default=False,
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="xowner",
            index=models.Index(
                fields=["address", "-height", "utxo"], name="xchain_owned_newest_first"
            ),
        ),
    ]
