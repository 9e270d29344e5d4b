"""Payments of the faucet in the last hour, which count towards its limits."""

import chaindb.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('explorer_app', '0007_search_keys'),
    ]

    operations = [
        migrations.CreateModel(
            name='FaucetPayment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('recipient', chaindb.fields.BytesField(help_text='The letter of the chain, and the address of 20 bytes')),
                ('client', models.CharField(help_text='The address of the client that asked', max_length=64)),
                ('coins', models.IntegerField()),
                ('paid_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['-paid_at'],
                'indexes': [models.Index(fields=['paid_at'], name='explorer_faucet_by_time')],
            },
        ),
    ]
