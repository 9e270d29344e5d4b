"""Requests for peers' signatures by processes that have no connections."""

from django.db import migrations, models

import chaindb.fields


class Migration(migrations.Migration):
    """Add the table."""

    dependencies = [("network_app", "0014_long_chain_names")]

    operations = [
        migrations.CreateModel(
            name="SignatureQuery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "chain",
                    models.CharField(
                        help_text="Name of the chain whose message is to be signed", max_length=64
                    ),
                ),
                (
                    "payload",
                    chaindb.fields.BytesField(help_text="The SignatureRequest for the peers"),
                ),
                (
                    "node_ids",
                    chaindb.fields.BytesField(
                        help_text="The IDs of the nodes to ask, 20 bytes each"
                    ),
                ),
                ("asked_at", models.DateTimeField()),
                (
                    "signatures",
                    models.JSONField(
                        help_text="The answer: signatures by node ID, in hex; null: not answered yet",
                        null=True,
                    ),
                ),
            ],
            options={"verbose_name_plural": "signature queries", "ordering": ["id"]},
        ),
    ]
