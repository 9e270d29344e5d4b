"""Views of tokens, for people who query; they are an interface (docs/sql.md)."""

from django.db import migrations

from chaindb import migrating as views

KINDS = {20: "ERC-20", 721: "ERC-721", 1155: "ERC-1155"}
VIEWS = {
    "c_tokens": (
        "explorer_app_token t WHERE t.kind IS NOT NULL",
        "{hex:t.address} AS address, " + views.named("t.kind", KINDS) + " AS kind, t.name, t.symbol, "
        "t.decimals, {number:t.total_supply} AS total_supply, t.first_log / 16777216 AS first_block",
    ),
    "c_token_transfers": (
        "explorer_app_tokentransfer x "
        "JOIN explorer_app_token k ON k.address = x.contract_id "
        "JOIN cchain_app_transaction t ON t.id = x.transaction_id "
        "JOIN cchain_app_block b ON b.number = t.block_id "
        "WHERE k.kind IS NOT NULL",
        "b.number AS block_number, {time:b.timestamp} AS time, {hex:t.hash} AS transaction_hash, "
        "x.log_index, {hex:x.contract_id} AS token, " + views.named("x.kind", KINDS) + " AS kind, "
        "k.symbol, {hex:x.sender} AS sender, {hex:x.to} AS recipient, {number:x.token_id} AS token_id, "
        "{number:x.last_token_id} AS last_token_id, {number:x.value} AS value, x.hidden",
    ),
    "c_token_balances": (
        "explorer_app_tokenbalance a JOIN explorer_app_token k "
        "ON k.address = a.contract_id AND k.kind = a.kind",
        "{hex:a.contract_id} AS token, " + views.named("a.kind", KINDS) + " AS kind, k.symbol, "
        "{hex:a.holder} AS holder, {number:a.token_id} AS token_id, {number:a.amount} AS amount, "
        "{number:a.summed} AS summed, a.differs, a.asked_height",
    ),
}


def create(apps, schema_editor):
    views.create(schema_editor, VIEWS)


def drop(apps, schema_editor):
    views.drop(schema_editor, VIEWS)


class Migration(migrations.Migration):
    dependencies = [("explorer_app", "0001_tokens")]

    operations = [migrations.RunPython(create, drop)]
