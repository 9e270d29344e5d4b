"""Views of L1s for SQL users; `0002_sql_views` describes their form."""

from django.db import migrations

from chaindb import migrating as views

PHASE = (
    "CASE WHEN v.removed_height IS NOT NULL THEN 'removed' "
    "WHEN v.is_active THEN 'active' ELSE 'inactive' END"
)
# Ints in SQLite are at most 2^63 - 1; balances and weights of real L1s are far below.
BALANCE = "CASE WHEN v.is_active THEN {integer:v.end_accumulated_fee} - {integer:n.l1_accrued_fees} ELSE 0 END"
OF_L1 = "FROM platform_app_l1validator v WHERE v.subnet_id = c.subnet_id AND v.removed_height IS NULL"

VIEWS = {
    "p_l1s": (
        "platform_app_l1conversion c JOIN platform_app_block b ON b.height = c.height",
        "{hex:c.subnet_id} AS subnet_id, {hex:c.conversion_id} AS conversion_id, "
        "{hex:c.manager_chain_id} AS manager_chain_id, {hex:c.manager_address} AS manager_address, "
        "c.height, {time:b.time} AS time, "
        f"(SELECT count(*) {OF_L1}) AS validator_count, "
        f"(SELECT count(*) {OF_L1} AND v.is_active) AS active_count, "
        f"(SELECT sum({{integer:v.weight}}) {OF_L1}) AS weight",
    ),
    "p_l1_validators": (
        "platform_app_l1validator v CROSS JOIN platform_app_chain n",
        "{hex:v.validation_id} AS validation_id, {hex:v.subnet_id} AS subnet_id, v.node AS node_id, "
        f"{PHASE} AS state, {{number:v.weight}} AS weight, {BALANCE} AS balance, "
        f"{BALANCE} / (1.0 * n.unit) AS coins, {{number:v.min_nonce}} AS min_nonce, "
        "{time:v.start_time} AS start_time, v.added_height, v.removed_height, "
        "{hex:v.public_key} AS public_key",
    ),
    "p_l1_weights": (
        "platform_app_l1weight w JOIN platform_app_l1validator v ON v.validation_id = w.validation_id",
        "{hex:w.validation_id} AS validation_id, {hex:w.subnet_id} AS subnet_id, v.node AS node_id, "
        "CASE WHEN w.public_key IS NULL THEN 'inactive' ELSE 'active' END AS state, "
        "{number:w.weight} AS weight, w.from_height, w.until_height",
    ),
}


def create(apps, schema_editor):
    views.create(schema_editor, VIEWS)


def drop(apps, schema_editor):
    views.drop(schema_editor, VIEWS)


class Migration(migrations.Migration):
    dependencies = [("platform_app", "0007_l1_validators")]

    operations = [migrations.RunPython(create, drop)]
