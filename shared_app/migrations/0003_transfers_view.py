"""The view of outputs that moved between chains, with both ends (docs/sql.md): columns are added, never renamed."""

from django.db import migrations

from chaindb import migrating as views


def _letter(column):
    return f"CASE {column} WHEN n.x_chain_id THEN 'X' WHEN n.c_chain_id THEN 'C' ELSE 'P' END"


def _blocks(chain, height, prefix):
    """Return the joins of the blocks of each chain at a height, and the expression of the block's time."""
    joins = (
        f" LEFT JOIN platform_app_block {prefix}p ON {prefix}p.height = {height}"
        f" AND {chain} <> n.x_chain_id AND {chain} <> n.c_chain_id"
        f" LEFT JOIN xchain_app_xblock {prefix}x ON {prefix}x.height = {height} AND {chain} = n.x_chain_id"
        f" LEFT JOIN cchain_app_block {prefix}c ON {prefix}c.number = {height} AND {chain} = n.c_chain_id"
    )
    time = f"coalesce({{time:{prefix}p.time}}, {{time:{prefix}x.time}}, {{time:{prefix}c.timestamp}})"
    return joins, time


_EXPORT, _EXPORT_TIME = _blocks("t.source_chain", "t.exported_height", "e")
_IMPORT, _IMPORT_TIME = _blocks("t.destination_chain", "t.imported_height", "i")

VIEWS = {
    "transfers": (
        f"shared_app_chaintransfer t CROSS JOIN platform_app_chain n{_EXPORT}{_IMPORT}",
        f"{{hex:t.utxo_id}} AS utxo_id, {_letter('t.source_chain')} AS source, "
        f"{_letter('t.destination_chain')} AS destination, {{hex:t.asset_id}} AS asset_id, "
        "{number:t.amount} AS amount, {hex:t.tx_id} AS export_tx, t.output_index, "
        f"t.exported_height AS export_height, {_EXPORT_TIME} AS export_time, "
        "{hex:t.import_tx} AS import_tx, t.imported_height AS import_height, "
        f"{_IMPORT_TIME} AS import_time",
    ),
}


def create(apps, schema_editor):
    views.create(schema_editor, VIEWS)


def drop(apps, schema_editor):
    views.drop(schema_editor, VIEWS)


class Migration(migrations.Migration):
    dependencies = [
        ("shared_app", "0002_transfers"),
        ("platform_app", "0006_shared_outputs_moved"),
        ("xchain_app", "0001_initial"),
        ("cchain_app", "0018_atomic_views"),
    ]

    operations = [migrations.RunPython(create, drop)]
