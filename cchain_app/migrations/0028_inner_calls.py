"""Indexes of the internal calls of an account that are not a transaction's own frame."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("cchain_app", "0027_subnet_chain_reason"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="call",
            index=models.Index(condition=models.Q(("depth__gt", 0)), fields=["sender", "id"], name="cchain_inner_by_sender"),
        ),
        migrations.AddIndex(
            model_name="call",
            index=models.Index(condition=models.Q(("depth__gt", 0)), fields=["to", "id"], name="cchain_inner_by_recipient"),
        ),
    ]
