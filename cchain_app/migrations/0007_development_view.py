"""A view of what was changed by hand, for people who query; how it looks is said in `0002_sql_views`."""

from importlib import import_module

from django.db import migrations

views = import_module("cchain_app.migrations.0002_sql_views")

KINDS = ("balance", "nonce", "code", "storage")
KIND = "CASE d.kind {} END".format(
    " ".join(f"WHEN {number} THEN '{name}'" for number, name in enumerate(KINDS))
)
COLUMNS = (
    f"d.number AS block_number, {KIND} AS kind, {{hash:d.address}} AS address, {{hash:d.slot}} AS slot, "
    "{hash:d.old} AS before, {hash:d.new} AS after"
)


def create(apps, schema_editor):
    written = views.written(COLUMNS, views.FORMS[schema_editor.connection.vendor])
    schema_editor.execute(
        f"CREATE VIEW c_development_changes AS SELECT {written} FROM cchain_app_developmentchange d"
    )


def drop(apps, schema_editor):
    schema_editor.execute("DROP VIEW c_development_changes")


class Migration(migrations.Migration):
    dependencies = [("cchain_app", "0006_development")]

    operations = [migrations.RunPython(create, drop)]
