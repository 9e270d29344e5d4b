"""Whom a development chain lets everybody send for without a key."""

import chaindb.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('cchain_app', '0007_development_view'),
    ]

    operations = [
        migrations.CreateModel(
            name='Impersonation',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('address', chaindb.fields.AddressField(help_text='Null: every account', null=True, unique=True)),
            ],
            options={
                'ordering': ['id'],
            },
        ),
    ]
