"""What blocks of chains have that others made: uncles, withdrawals, roots in receipts; and that none is added."""

import chaindb.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('cchain_app', '0002_sql_views'),
    ]

    operations = [
        migrations.AddField(
            model_name='block',
            name='ommers',
            field=chaindb.fields.BytesField(help_text="Uncles' headers, a list as RLP; null: there are none", null=True),
        ),
        migrations.AddField(
            model_name='block',
            name='withdrawals',
            field=chaindb.fields.BytesField(help_text='A list as RLP; null: there are none', null=True),
        ),
        migrations.AddField(
            model_name='chain',
            name='makes_blocks',
            field=models.BooleanField(default=True, help_text='Not on a chain that was imported, unless that was asked for'),
        ),
        migrations.AddField(
            model_name='receipt',
            name='state_root',
            field=chaindb.fields.HashField(help_text='After the transaction, where a block is from before Byzantium', null=True),
        ),
    ]
