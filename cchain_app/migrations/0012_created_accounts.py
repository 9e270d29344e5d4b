"""Accounts that a development chain's node made for those who asked."""

import chaindb.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('cchain_app', '0011_impersonated_signature'),
    ]

    operations = [
        migrations.CreateModel(
            name='CreatedAccount',
            fields=[
                ('number', chaindb.fields.RowIdField(help_text="Of the mnemonic's account, at the end of NODE_DERIVATION_PATH", primary_key=True, serialize=False)),
                ('address', chaindb.fields.AddressField(unique=True)),
            ],
            options={
                'verbose_name': 'created account',
                'ordering': ['number'],
            },
        ),
    ]
