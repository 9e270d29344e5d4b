"""Warp messages that blocks have sent, and their view for people who query (docs/sql.md)."""

import chaindb.fields
from django.db import migrations, models

from chaindb import migrating as views

VIEWS = {
    "c_warp_messages": (
        "cchain_app_warpmessage m JOIN cchain_app_block b ON b.number = m.block_number",
        "{hex:m.message_id} AS message_id, m.block_number, m.log_index, {time:b.timestamp} AS time, "
        "{hex:m.sender} AS sender, {hex:m.raw} AS message",
    ),
}


def create(apps, schema_editor):
    views.create(schema_editor, VIEWS)


def drop(apps, schema_editor):
    views.drop(schema_editor, VIEWS)


class Migration(migrations.Migration):

    dependencies = [("cchain_app", "0020_fee_history")]

    operations = [
        migrations.CreateModel(
            name="WarpMessage",
            fields=[
                ("message_id", chaindb.fields.IDField(primary_key=True, serialize=False)),
                ("block_number", models.BigIntegerField(db_index=True)),
                ("log_index", models.IntegerField(help_text="Index of its log in the block")),
                (
                    "sender",
                    chaindb.fields.AddressField(
                        help_text="The contract or account that has sent it"
                    ),
                ),
                (
                    "raw",
                    chaindb.fields.BytesField(
                        help_text="Unsigned bytes; their SHA-256 is the ID"
                    ),
                ),
            ],
            options={"ordering": ["-block_number", "-log_index"]},
        ),
        migrations.RunPython(create, drop),
    ]
