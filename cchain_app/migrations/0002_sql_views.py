"""Views for people who query: hashes and addresses as 0x text, times as timestamps, wei exact.

They are an interface: columns are added, never renamed or taken away (docs/sql.md).
"""

from django.db import migrations

COLUMNS = {
    "c_blocks": (
        "cchain_app_block b",
        "b.number, {hash:b.hash} AS hash, {hash:b.parent_hash} AS parent_hash, "
        "{time:b.timestamp} AS time, {hash:b.state_root} AS state_root, {hash:b.miner} AS miner, "
        "b.gas_used, b.gas_limit, {wei:b.base_fee} AS base_fee, b.size, b.transaction_count, "
        "b.log_count",
    ),
    "c_transactions": (
        "cchain_app_transaction t "
        "JOIN cchain_app_receipt r ON r.transaction_id = t.id "
        "JOIN cchain_app_block b ON b.number = t.block_id",
        "{hash:t.hash} AS hash, t.block_id AS block_number, t.index AS transaction_index, "
        "{time:b.timestamp} AS time, t.type, {hash:t.sender} AS sender, {hash:t.to} AS recipient, "
        "{wei:t.nonce} AS nonce, {wei:t.value} AS value, {coins:t.value} AS coins, "
        "t.gas AS gas_limit, r.gas_used, {wei:r.effective_gas_price} AS gas_price, r.succeeded, "
        "{hash:r.contract_address} AS contract_address, r.log_count",
    ),
    "c_logs": (
        "cchain_app_log l "
        "JOIN cchain_app_transaction t ON t.id = l.transaction_id "
        "JOIN cchain_app_block b ON b.number = l.block_id",
        "l.block_id AS block_number, l.index AS log_index, {time:b.timestamp} AS time, "
        "{hash:t.hash} AS transaction_hash, {hash:l.address} AS address, {hash:l.topic0} AS topic0, "
        "{hash:l.topic1} AS topic1, {hash:l.topic2} AS topic2, {hash:l.topic3} AS topic3, "
        "{hash:l.data} AS data",
    ),
    "c_balances": (
        "cchain_app_account a",
        "{hash:a.address} AS address, {wei:a.balance} AS balance, {coins:a.balance} AS coins, "
        "{wei:a.nonce} AS nonce, {hash:a.code_hash} AS code_hash",
    ),
}

FORMS = {
    "postgresql": {
        "hash": "'0x' || encode({}, 'hex')",
        "time": "to_timestamp({})",
        "wei": "{}",
        "coins": "{} / 1000000000000000000.0",
    },
    "sqlite": {
        "hash": "'0x' || lower(hex({}))",
        "time": "datetime({}, 'unixepoch')",
        "wei": "CASE WHEN {0} IS NULL THEN NULL ELSE coalesce(nullif(ltrim({0}, '0'), ''), '0') END",
        "coins": "CAST({} AS REAL) / 1e18",
    },
}

# These are SQL's own words, too.
RESERVED = ("to", "index")


def create(apps, schema_editor):
    forms = FORMS[schema_editor.connection.vendor]
    for name, (tables, columns) in COLUMNS.items():
        schema_editor.execute(f"CREATE VIEW {name} AS SELECT {written(columns, forms)} FROM {tables}")


def drop(apps, schema_editor):
    for name in COLUMNS:
        schema_editor.execute(f"DROP VIEW {name}")


def written(columns, forms):
    """Return the list of columns with each {form:column} replaced, as this database writes it."""
    for form, expression in forms.items():
        while "{" + form + ":" in columns:
            before, rest = columns.split("{" + form + ":", 1)
            column, after = rest.split("}", 1)
            shown = expression.format(quoted(column))
            columns = f"{before}{absent_as_null(form, column, shown)}{after}"
    for word in RESERVED:
        columns = columns.replace(f"t.{word} ", f't."{word}" ').replace(f"l.{word} ", f'l."{word}" ')
    return columns


def absent_as_null(form, column, shown):
    """SQLite's || and hex() make text of null."""
    return f"CASE WHEN {quoted(column)} IS NULL THEN NULL ELSE {shown} END" if form == "hash" else shown


def quoted(column):
    table, name = column.split(".")
    return f'{table}."{name}"'


class Migration(migrations.Migration):
    dependencies = [("cchain_app", "0001_initial")]

    operations = [migrations.RunPython(create, drop)]
