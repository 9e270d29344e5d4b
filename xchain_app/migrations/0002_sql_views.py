"""Views for SQL users: identifiers as 0x text, times as timestamps, names and payloads as they are.

They are a public interface: columns are added, but never renamed or removed (docs/sql.md).
"""

from django.db import migrations

from chaindb import migrating as views

TX_TYPES = {0: "BaseTx", 1: "CreateAssetTx", 2: "OperationTx", 3: "ImportTx", 4: "ExportTx"}
OUTPUT_TYPES = {
    6: "MintOutput",
    7: "TransferOutput",
    10: "NftMintOutput",
    11: "NftTransferOutput",
    15: "PropertyMintOutput",
    16: "OwnedOutput",
}

VIEWS = {
    "x_blocks": (
        "xchain_app_xblock b",
        "b.height, {hex:b.block_id} AS block_id, {hex:b.parent_id} AS parent_id, "
        "{time:b.time} AS time, b.tx_count, length(b.raw) AS size",
    ),
    "x_txs": (
        "xchain_app_xtransaction t JOIN xchain_app_xblock b ON b.height = t.height",
        '{hex:t.tx_id} AS tx_id, t.height, t."index" AS tx_index, {time:b.time} AS time, '
        + views.named("t.kind", TX_TYPES)
        + " AS type, {hex:t.peer_chain} AS peer_chain, {number:t.burned} AS burned, "
        "{hex:t.memo} AS memo, length(t.raw) AS size",
    ),
    "x_assets": (
        "xchain_app_xasset a",
        "{hex:a.asset_id} AS asset_id, a.alias, a.name, a.symbol, a.denomination, a.height, "
        "(SELECT count(*) FROM xchain_app_xoutput o "
        "WHERE o.asset_id = a.asset_id AND o.spent_height IS NULL) AS unspent_outputs",
    ),
    "x_utxos": (
        "xchain_app_xoutput u WHERE u.spent_height IS NULL",
        "{hex:u.utxo_id} AS utxo_id, {hex:u.tx_id} AS tx_id, u.output_index, "
        "{hex:u.asset_id} AS asset_id, "
        + views.named("u.kind", OUTPUT_TYPES)
        + " AS type, {number:u.amount} AS amount, {number:u.locktime} AS locktime, u.threshold, "
        "u.height",
    ),
    "x_holders": (
        "xchain_app_xowner o JOIN xchain_app_xoutput u ON u.utxo_id = o.utxo_id "
        "WHERE u.kind = 7 GROUP BY u.asset_id, o.address",
        "{hex:u.asset_id} AS asset_id, {hex:o.address} AS address, count(*) AS utxo_count, "
        "sum({integer:u.amount}) AS amount",
    ),
    "x_collectibles": (
        "xchain_app_xowner o JOIN xchain_app_xoutput u ON u.utxo_id = o.utxo_id WHERE u.kind = 11",
        "{hex:u.asset_id} AS asset_id, u.group_id, {hex:u.payload} AS payload, "
        "{hex:o.address} AS address, {hex:u.utxo_id} AS utxo_id, u.height",
    ),
    "x_mempool": (
        "xchain_app_xmempooltx m",
        "{hex:m.tx_id} AS tx_id, "
        + views.named("m.kind", TX_TYPES)
        + " AS type, m.size, {time:m.received_at} AS received_at",
    ),
}


def create(apps, schema_editor):
    views.create(schema_editor, VIEWS)


def drop(apps, schema_editor):
    views.drop(schema_editor, VIEWS)


class Migration(migrations.Migration):
    dependencies = [("xchain_app", "0001_initial")]

    operations = [migrations.RunPython(create, drop)]
