"""The uptimes of the validators of tracked subnets."""

from django.db import migrations, models

import chaindb.fields


class Migration(migrations.Migration):
    """Add the table."""

    dependencies = [("platform_app", "0009_mempool_price")]

    operations = [
        migrations.CreateModel(
            name="SubnetUptime",
            fields=[
                (
                    "validation_id",
                    chaindb.fields.IDField(
                        help_text="The ID of an L1 validator, or the transaction that added a subnet's validator",
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "up_duration",
                    models.BigIntegerField(help_text="Seconds online before `last_updated`"),
                ),
                ("last_updated", models.BigIntegerField(help_text="Unix seconds")),
            ],
        ),
    ]
