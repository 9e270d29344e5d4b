"""Signatures of which a development chain was told who signed."""

import chaindb.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('cchain_app', '0010_fork_transaction'),
    ]

    operations = [
        migrations.CreateModel(
            name='ImpersonatedSignature',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('number', models.BigIntegerField(db_index=True, help_text='The first block that it is so in')),
                ('signature', chaindb.fields.BytesField(help_text='r, s and v: 65 bytes')),
                ('signer', chaindb.fields.AddressField()),
            ],
            options={
                'ordering': ['id'],
            },
        ),
    ]
