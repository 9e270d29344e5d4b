"""Rows name their chain, of which there may be more than two; outer blocks are found by (chain, height).

Until now the key of an outer block was twice its height, plus one for the C-Chain. Rows keep their keys; new rows
get the numbers above them. On the way back rows of further chains are deleted, and the keys calculated again.
"""

from importlib import import_module

from django.db import migrations, models

from chaindb import migrating as views

TWO = ("P", "C")
NAMED = ("outerblock", "fetchedblock", "chainsync", "chainconsensus", "blockdecision")
KEYED = ("outerblock", "fetchedblock")

VIEWS = {
    name: view
    for module in ("0002_sql_views", "0008_consensus")
    for name, view in import_module(f"network_app.migrations.{module}").VIEWS.items()
}
"""SQLite renames no table that a view uses, and PostgreSQL changes no column that a view shows."""


def create(apps, schema_editor):
    views.create(schema_editor, VIEWS)


def drop(apps, schema_editor):
    views.drop(schema_editor, VIEWS)


def forget_further_chains(apps, schema_editor):
    for table in NAMED:
        schema_editor.execute(f"DELETE FROM network_app_{table} WHERE chain NOT IN (%s, %s)", TWO)
    for table in KEYED:
        # In two steps, because a new key may still be that of another row.
        schema_editor.execute(f"UPDATE network_app_{table} SET id = -1 - id")
        schema_editor.execute(
            f"UPDATE network_app_{table} SET id = 2 * height + CASE chain WHEN 'C' THEN 1 ELSE 0 END"
        )
    if schema_editor.connection.vendor == "postgresql":
        # Foreign keys are checked now, because a table with checks left cannot be altered.
        schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        schema_editor.execute("SET CONSTRAINTS ALL DEFERRED")


def number_above(apps, schema_editor):
    """Number new rows from above the existing keys on. SQLite needs no call."""
    if schema_editor.connection.vendor != "postgresql":
        return
    for table in KEYED:
        schema_editor.execute(
            f"SELECT setval(pg_get_serial_sequence('network_app_{table}', 'id'), "
            f"(SELECT COALESCE(MAX(id), 0) + 1 FROM network_app_{table}), false)"
        )


def name():
    return models.CharField(help_text="The chain's name, such as P or C", max_length=32)


def key_name():
    return models.CharField(
        help_text="The chain's name, such as P or C", max_length=32, primary_key=True, serialize=False
    )


class Migration(migrations.Migration):
    dependencies = [("network_app", "0010_dial_failures")]

    operations = [
        migrations.RunPython(drop, create),
        migrations.RemoveIndex("OuterBlock", "network_outer_by_height"),
        migrations.RemoveIndex("FetchedBlock", "network_fetched_by_height"),
        migrations.AlterField(
            "OuterBlock", "id", models.BigAutoField(primary_key=True, serialize=False)
        ),
        migrations.AlterField("OuterBlock", "chain", name()),
        migrations.AddConstraint(
            "OuterBlock",
            models.UniqueConstraint(fields=("chain", "height"), name="network_outer_at_height"),
        ),
        migrations.AlterField(
            "FetchedBlock", "id", models.BigAutoField(primary_key=True, serialize=False)
        ),
        migrations.AlterField("FetchedBlock", "chain", name()),
        migrations.AddConstraint(
            "FetchedBlock",
            models.UniqueConstraint(fields=("chain", "height"), name="network_fetched_at_height"),
        ),
        migrations.AlterField("ChainSync", "chain", key_name()),
        migrations.AlterField("ChainConsensus", "chain", key_name()),
        migrations.AlterField("BlockDecision", "chain", name()),
        migrations.RunPython(number_above, forget_further_chains),
        migrations.RunPython(create, drop),
    ]
