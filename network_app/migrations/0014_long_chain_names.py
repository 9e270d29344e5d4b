"""Names of chains have up to 64 characters, as many as a blockchain ID has.

SQLite does not limit texts, so only PostgreSQL's columns change.
"""

from importlib import import_module

from django.db import migrations, models

from chaindb import migrating as views

TABLES = ("outerblock", "fetchedblock", "chainsync", "chainconsensus", "blockdecision")
VIEWS = {
    name: view
    for module in ("0002_sql_views", "0008_consensus")
    for name, view in import_module(f"network_app.migrations.{module}").VIEWS.items()
}
"""PostgreSQL changes no column that a view shows."""


def widen(size):
    def change(apps, schema_editor):
        if schema_editor.connection.vendor != "postgresql":
            return
        views.drop(schema_editor, VIEWS)
        for table in TABLES:
            schema_editor.execute(
                f"ALTER TABLE network_app_{table} ALTER COLUMN chain TYPE varchar({size})"
            )
        views.create(schema_editor, VIEWS)

    return change


def altered(model, **options):
    field = models.CharField(help_text="The chain's name, such as P or C", max_length=64, **options)
    return migrations.AlterField(model, "chain", field)


class Migration(migrations.Migration):
    dependencies = [("network_app", "0013_plain_help_texts")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(widen(64), widen(32))],
            state_operations=[
                altered("OuterBlock"),
                altered("FetchedBlock"),
                altered("ChainSync", primary_key=True, serialize=False),
                altered("ChainConsensus", primary_key=True, serialize=False),
                altered("BlockDecision"),
            ],
        ),
    ]
