"""Views of atomic transactions and withdrawals, for people who query (docs/sql.md)."""

from django.db import migrations

from chaindb import migrating as views

KINDS = {0: "ImportTx", 1: "ExportTx"}

VIEWS = {
    "c_atomic_txs": (
        "cchain_app_atomictransaction t JOIN cchain_app_block b ON b.number = t.block_number",
        '{hex:t.tx_id} AS tx_id, t.block_number, {time:b.timestamp} AS time, t."index" AS position, '
        + views.named("t.kind", KINDS)
        + " AS type, {hex:t.peer_chain} AS peer_chain, {number:t.amount} AS amount, "
        "{number:t.burned} AS burned, t.gas",
    ),
    "c_withdrawals": (
        "cchain_app_withdrawal w JOIN cchain_app_block b ON b.number = w.block_number",
        'w."index" AS withdrawal_index, w.block_number, {time:b.timestamp} AS time, '
        "w.validator_index, {hex:w.address} AS address, {number:w.amount_gwei} AS amount_gwei, "
        "{hex:w.tx_id} AS tx_id",
    ),
}


def create(apps, schema_editor):
    views.create(schema_editor, VIEWS)


def drop(apps, schema_editor):
    views.drop(schema_editor, VIEWS)


class Migration(migrations.Migration):
    dependencies = [("cchain_app", "0017_atomic_transactions")]

    operations = [migrations.RunPython(create, drop)]
