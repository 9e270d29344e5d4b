"""Columns from which a fee history is read without transactions and headers."""

from itertools import groupby

from django.db import migrations, models

import chaindb.fields
from chaindb.fields import height_of, row_id
from primitives import rlp

BATCH = 200
"""Blocks that are filled with one statement."""

BLOB_GAS_USED = 17
"""Index in a header; the excess is the next item."""


def fill(apps, schema_editor):
    """Compute the columns of the blocks that are there."""
    alias = schema_editor.connection.alias
    blocks = apps.get_model("cchain_app", "Block")._base_manager.using(alias)
    last = -1
    while found := list(blocks.filter(number__gt=last).order_by("number")[:BATCH]):
        last = found[-1].number
        tips = tips_of(apps, alias, found)
        for block in found:
            items = list(rlp.iterate(rlp.read_only_item(bytes(block.header))))
            if len(items) > BLOB_GAS_USED + 1:
                block.blob_gas_used, block.excess_blob_gas = map(
                    rlp.read_uint64, items[BLOB_GAS_USED : BLOB_GAS_USED + 2]
                )
            block.tips = tips.get(block.number)
        blocks.bulk_update(found, ("blob_gas_used", "excess_blob_gas", "tips"))


def tips_of(apps, alias, blocks):
    """Return the new column for the blocks that have transactions."""
    base_fees = {block.number: block.base_fee or 0 for block in blocks}
    receipts = apps.get_model("cchain_app", "Receipt")._base_manager.using(alias)
    rows = (
        receipts.filter(
            transaction_id__gte=row_id(blocks[0].number),
            transaction_id__lt=row_id(blocks[-1].number + 1),
        )
        .order_by("transaction_id")
        .values_list("transaction_id", "gas_used", "effective_gas_price")
    )
    found = {}
    for number, paid in groupby(rows, key=lambda row: height_of(row[0])):
        gas = {}
        for _, gas_used, price in paid:
            tip = price - base_fees[number]
            gas[tip] = gas.get(tip, 0) + gas_used
        found[number] = sorted(gas.items())
    return found


class Migration(migrations.Migration):

    dependencies = [
        ('cchain_app', '0019_blobs'),
    ]

    operations = [
        migrations.AddField(
            model_name='block',
            name='blob_gas_used',
            field=models.BigIntegerField(help_text='Null before Cancun', null=True),
        ),
        migrations.AddField(
            model_name='block',
            name='excess_blob_gas',
            field=chaindb.fields.UInt64Field(help_text='From which the price of blob gas is computed; null before Cancun', null=True),
        ),
        migrations.AddField(
            model_name='block',
            name='tips',
            field=models.JSONField(help_text='Each tip that its transactions paid, in wei per gas and lowest first, with the gas for which it was paid; null: no transactions', null=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
