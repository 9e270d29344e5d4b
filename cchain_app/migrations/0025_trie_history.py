"""Nodes of the state trie as they were, for proofs at past blocks. New blocks fill the tables."""

from django.db import migrations, models

import chaindb.fields


class Migration(migrations.Migration):

    dependencies = [
        ("cchain_app", "0024_coreth_blocks"),
    ]

    operations = [
        migrations.CreateModel(
            name="TrieNodeChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "key",
                    chaindb.fields.BytesField(help_text="Trie and path, as encoded by `evm.trie`"),
                ),
                (
                    "number",
                    models.BigIntegerField(help_text="The block after which the interval begins"),
                ),
                ("rlp", chaindb.fields.BytesField(help_text="Empty if the node did not exist")),
            ],
            options={"ordering": ["id"]},
        ),
        migrations.CreateModel(
            name="TrieHistory",
            fields=[
                ("id", models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                (
                    "number",
                    models.BigIntegerField(help_text="The block after which the interval begins"),
                ),
                ("changes", models.BigIntegerField(help_text="Changes of accounts and slots in it")),
                (
                    "first",
                    models.BigIntegerField(
                        help_text="Intervals that begin below this block were deleted, at least in part"
                    ),
                ),
            ],
            options={"verbose_name_plural": "trie history"},
        ),
        migrations.AddConstraint(
            model_name="trienodechange",
            constraint=models.UniqueConstraint(
                fields=("key", "number"), name="cchain_node_changes_once_an_interval"
            ),
        ),
        migrations.AddConstraint(
            model_name="triehistory",
            constraint=models.CheckConstraint(
                condition=models.Q(("id", 1)), name="cchain_one_trie_history"
            ),
        ),
    ]
