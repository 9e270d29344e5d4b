"""With which transaction of another chain a fork began."""

import chaindb.fields
from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('cchain_app', '0009_fork'),
    ]

    operations = [
        migrations.AddField(
            model_name='chain',
            name='fork_transaction',
            field=chaindb.fields.HashField(help_text='The last transaction of the block after the pin that was replayed there; null: nothing was', null=True),
        ),
    ]
