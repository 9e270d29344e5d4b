"""Numbers that no query compares are written without padding, and accounts without code without a hash in the history.

Neither changes a column or a row: old rows are read as before, and only new rows are shorter. Undoing it writes the
hashes, because older versions need them; that reads all changes of accounts.
"""

from django.db import migrations

import chaindb.fields
from primitives.hashing import EMPTY_HASH


def write_hashes(apps, schema_editor):
    """Write the hash of no code where the history has none."""
    changes = apps.get_model("cchain_app", "AccountChange")._base_manager
    changes.using(schema_editor.connection.alias).extra(where=["length(code_hash) = 0"]).update(
        code_hash=EMPTY_HASH
    )


class Migration(migrations.Migration):

    dependencies = [
        ("cchain_app", "0025_trie_history"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='accountchange',
                    name='balance',
                    field=chaindb.fields.UncomparedUInt256Field(null=True),
                ),
                migrations.AlterField(
                    model_name='accountchange',
                    name='code_hash',
                    field=chaindb.fields.HashField(help_text='Empty bytes for an account without code', null=True),
                ),
                migrations.AlterField(
                    model_name='accountchange',
                    name='nonce',
                    field=chaindb.fields.UncomparedUInt64Field(null=True),
                ),
                migrations.AlterField(
                    model_name='block',
                    name='base_fee',
                    field=chaindb.fields.UncomparedUInt256Field(help_text='Wei per gas; null before London', null=True),
                ),
                migrations.AlterField(
                    model_name='block',
                    name='excess_blob_gas',
                    field=chaindb.fields.UncomparedUInt64Field(help_text='From which the price of blob gas is computed; null before Cancun', null=True),
                ),
                migrations.AlterField(
                    model_name='receipt',
                    name='effective_gas_price',
                    field=chaindb.fields.UncomparedUInt256Field(help_text='Wei'),
                ),
                migrations.AlterField(
                    model_name='transaction',
                    name='max_fee_per_gas',
                    field=chaindb.fields.UncomparedUInt256Field(help_text='Wei; the gas price for types 0 and 1'),
                ),
                migrations.AlterField(
                    model_name='transaction',
                    name='max_priority_fee_per_gas',
                    field=chaindb.fields.UncomparedUInt256Field(help_text='Wei; the gas price for types 0 and 1'),
                ),
                migrations.AlterField(
                    model_name='transaction',
                    name='nonce',
                    field=chaindb.fields.UncomparedUInt64Field(),
                ),
                migrations.AlterField(
                    model_name='transaction',
                    name='value',
                    field=chaindb.fields.UncomparedUInt256Field(help_text='Wei'),
                ),
            ],
        ),
        migrations.RunPython(migrations.RunPython.noop, write_hashes),
    ]
