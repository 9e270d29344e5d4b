from django.db import migrations, models

_FILL = """
UPDATE cchain_app_atomictransaction SET position = block_number * 16777216 + "index"
"""


class Migration(migrations.Migration):
    """Give accepted imports and exports a key in the order of the chain, for lists with the latest first."""

    dependencies = [("cchain_app", "0022_subnet_chains")]

    operations = [
        migrations.AddField(
            model_name="atomictransaction",
            name="position",
            field=models.BigIntegerField(
                help_text="Key in the chain's order: block and index in the payload", null=True
            ),
        ),
        migrations.RunSQL(_FILL, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="atomictransaction",
            index=models.Index(fields=["position"], name="cchain_atomic_in_order"),
        ),
    ]
