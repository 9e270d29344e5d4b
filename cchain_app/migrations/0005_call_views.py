"""Views of what transactions did inside, for people who query; how they look is said in `0002_sql_views`."""

from importlib import import_module

from django.db import migrations

views = import_module("cchain_app.migrations.0002_sql_views")

TYPES = ("CALL", "CALLCODE", "DELEGATECALL", "STATICCALL", "CREATE", "CREATE2", "SELFDESTRUCT")
TYPE = "CASE c.type {} END".format(
    " ".join(f"WHEN {number} THEN '{name}'" for number, name in enumerate(TYPES))
)
TABLES = (
    "cchain_app_call c "
    "JOIN cchain_app_transaction t ON t.id = c.transaction_id "
    "JOIN cchain_app_block b ON b.number = t.block_id"
)
PLACE = (
    "t.block_id AS block_number, {time:b.timestamp} AS time, {hash:t.hash} AS transaction_hash, "
    't.index AS transaction_index, c."index" AS call_index, c.depth, c.trace_address, '
)
COLUMNS = {
    "c_calls": (
        TABLES,
        f"{PLACE}{TYPE} AS type, {{hash:c.sender}} AS sender, {{hash:c.to}} AS recipient, "
        "coalesce({wei:c.value}, {none}) AS value, {hash:c.selector} AS selector, c.gas AS gas_limit, "
        "c.gas_used, c.error, {hash:c.revert_data} AS revert_data, c.succeeded",
    ),
    "c_creations": (
        f"{TABLES} WHERE c.creates",
        f"{PLACE}{TYPE} AS type, {{hash:c.sender}} AS creator, {{hash:c.to}} AS contract_address, "
        "coalesce({wei:c.value}, {none}) AS value, c.gas AS gas_limit, c.gas_used, c.error, "
        "{hash:c.revert_data} AS revert_data, c.succeeded",
    ),
}
NONE = {"postgresql": "0", "sqlite": "'0'"}


def create(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    for name, (tables, columns) in COLUMNS.items():
        written = views.written(columns.replace("{none}", NONE[vendor]), views.FORMS[vendor])
        schema_editor.execute(f"CREATE VIEW {name} AS SELECT {written} FROM {tables}")


def drop(apps, schema_editor):
    for name in COLUMNS:
        schema_editor.execute(f"DROP VIEW {name}")


class Migration(migrations.Migration):
    dependencies = [("cchain_app", "0004_calls")]

    operations = [migrations.RunPython(create, drop)]
