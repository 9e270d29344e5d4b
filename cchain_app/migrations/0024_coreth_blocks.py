"""Fields of the headers of networks of avalanchego nodes, and a view of them (docs/sql.md)."""

from itertools import islice

import chaindb.fields
from django.db import migrations

from cchain_app.rules.coreth.gas_state import GasState
from cchain_app.rules.coreth.min_delay import delay_of
from chaindb import migrating as views
from primitives import rlp

BATCH = 500
"""Blocks that are filled with one statement."""

REQUIRED = 16
"""Fields of a header that are never absent; the last one is the hash of the atomic transactions."""
HASH = 32
MILLISECONDS = 22
"""Index of the first field of Granite."""

VIEWS = {
    "c_coreth_blocks": (
        "cchain_app_corethblock h JOIN cchain_app_block b ON b.number = h.number",
        "h.number, {hex:b.hash} AS hash, {time:b.timestamp} AS time, "
        "{number:h.time_milliseconds} AS time_milliseconds, {hex:h.ext_data_hash} AS ext_data_hash, "
        "{number:h.ext_data_gas_used} AS ext_data_gas_used, {number:h.block_gas_cost} AS block_gas_cost, "
        "{number:h.gas_target} AS gas_target, {number:h.target_excess} AS target_excess, "
        "{number:h.gas_capacity} AS gas_capacity, {number:h.gas_excess} AS gas_excess, "
        "{number:h.min_delay} AS min_delay_milliseconds, {number:h.min_delay_excess} AS min_delay_excess",
    ),
}


def create(apps, schema_editor):
    fill(apps, schema_editor.connection.alias)
    views.create(schema_editor, VIEWS)


def drop(apps, schema_editor):
    views.drop(schema_editor, VIEWS)


def fill(apps, alias):
    """Write the rows of the blocks that are there, all of which are of Granite: no earlier version had others."""
    blocks = apps.get_model("cchain_app", "Block")._base_manager.using(alias)
    rows = apps.get_model("cchain_app", "CorethBlock")
    first = blocks.filter(number=0).values_list("header", flat=True).first()
    if first is None or len(last_required(items(first))) != HASH:
        return
    last = -1
    while found := list(
        blocks.filter(number__gt=last).order_by("number").values_list("number", "header")[:BATCH]
    ):
        last = found[-1][0]
        rows._base_manager.using(alias).bulk_create(
            rows(number=number, **values(number, items(header))) for number, header in found
        )


def items(header):
    return list(rlp.iterate(rlp.read_only_item(bytes(header))))


def last_required(fields):
    return next(islice(fields, REQUIRED - 1, None), b"")


def values(number, fields):
    """Return the columns of a block of Granite; block 0 has no gas state."""
    excess = int.from_bytes(fields[MILLISECONDS + 1], "big")
    made = {
        "ext_data_hash": fields[REQUIRED - 1],
        "ext_data_gas_used": int.from_bytes(fields[17], "big"),
        "block_gas_cost": int.from_bytes(fields[18], "big"),
        "time_milliseconds": int.from_bytes(fields[MILLISECONDS], "big"),
        "min_delay_excess": excess,
        "min_delay": delay_of(excess),
    }
    if number == 0:
        return made
    state = GasState.read(fields[12])
    return made | {
        "gas_capacity": state.capacity,
        "gas_excess": state.excess,
        "target_excess": state.target_excess,
        "gas_target": state.target,
    }


class Migration(migrations.Migration):
    dependencies = [("cchain_app", "0023_atomic_order")]

    operations = [
        migrations.CreateModel(
            name="CorethBlock",
            fields=[
                ("number", chaindb.fields.RowIdField(primary_key=True, serialize=False)),
                ("ext_data_hash", chaindb.fields.HashField(help_text="Hash of the atomic transactions")),
                ("ext_data_gas_used", chaindb.fields.UInt64Field(help_text="Gas of the atomic transactions", null=True)),
                ("block_gas_cost", chaindb.fields.UInt64Field(help_text="Gas that the tips had to buy", null=True)),
                ("time_milliseconds", chaindb.fields.UInt64Field(help_text="The block's time in Unix milliseconds", null=True)),
                ("min_delay_excess", chaindb.fields.UInt64Field(help_text="The vote on the time between blocks", null=True)),
                ("min_delay", chaindb.fields.UInt64Field(help_text="Least time to the next block, in milliseconds", null=True)),
                ("gas_capacity", chaindb.fields.UInt64Field(help_text="Gas left for the next block", null=True)),
                ("gas_excess", chaindb.fields.UInt64Field(help_text="Gas above the target, which determines the price", null=True)),
                ("target_excess", chaindb.fields.UInt64Field(help_text="The vote on the gas target", null=True)),
                ("gas_target", chaindb.fields.UInt64Field(help_text="Gas per second at which the price does not move", null=True)),
            ],
            options={"ordering": ["-number"]},
        ),
        migrations.RunPython(create, drop),
    ]
