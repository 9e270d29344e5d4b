"""Verified contracts, ABIs supplied without sources, and verifications."""

import chaindb.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("explorer_app", "0002_token_views"),
    ]

    operations = [
        migrations.CreateModel(
            name='SuppliedAbi',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('address', chaindb.fields.AddressField()),
                ('code_hash', chaindb.fields.HashField(help_text='Keccak-256 of the code that was there')),
                ('name', models.TextField(help_text='What they called the contract; may be empty')),
                ('abi', models.TextField(help_text='JSON')),
                ('supplied_at', models.DateTimeField()),
            ],
            options={
                'verbose_name': 'supplied ABI',
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(fields=('address', 'code_hash'), name='explorer_supplied_once')],
            },
        ),
        migrations.CreateModel(
            name='VerifiedContract',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('address', chaindb.fields.AddressField()),
                ('code_hash', chaindb.fields.HashField(help_text='Keccak-256 of the code that was there')),
                ('runtime_match', models.CharField(help_text='exact_match or match; null: the runtime code differs', max_length=12, null=True)),
                ('creation_match', models.CharField(help_text='Likewise; null also where it was not compared', max_length=12, null=True)),
                ('name', models.TextField()),
                ('path', models.TextField(help_text='Of its file')),
                ('language', models.CharField(max_length=10)),
                ('compiler', models.CharField(help_text='Version with its commit', max_length=80)),
                ('input', models.TextField(help_text="The compiler's standard JSON input that matches")),
                ('is_single_file', models.BooleanField(help_text='It was submitted as one file')),
                ('note', models.TextField(help_text='What of the input is not as it was submitted; else empty')),
                ('abi', models.TextField(help_text='JSON')),
                ('metadata', models.TextField(help_text='JSON, as the compiler made it')),
                ('artifacts', models.TextField(help_text='JSON: documentation, layout of the storage, selectors by signature')),
                ('arguments', chaindb.fields.BytesField(help_text='Of the constructor; null: nobody knows them', null=True)),
                ('libraries', models.TextField(help_text='JSON: addresses that were filled in, by path:Name')),
                ('immutables', models.TextField(help_text='JSON: values by the ID of their declaration')),
                ('license', models.CharField(help_text="Etherscan's number; empty: none was given", max_length=2)),
                ('verified_at', models.DateTimeField()),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['code_hash'], name='explorer_verified_code')],
                'constraints': [models.UniqueConstraint(fields=('address', 'code_hash'), name='explorer_verified_once')],
            },
        ),
        migrations.CreateModel(
            name='Verification',
            fields=[
                ('id', models.CharField(help_text='The GUID that clients ask by', max_length=32, primary_key=True, serialize=False)),
                ('digest', chaindb.fields.HashField(help_text='SHA-256 of all that was submitted')),
                ('address', chaindb.fields.AddressField()),
                ('code_hash', chaindb.fields.HashField(help_text='Keccak-256 of the code that was there')),
                ('client', models.CharField(help_text='The address that it came from', max_length=64)),
                ('input', models.TextField(help_text="The compiler's standard JSON input")),
                ('compiler', models.CharField(max_length=80)),
                ('path', models.TextField()),
                ('name', models.TextField()),
                ('arguments', chaindb.fields.BytesField(null=True)),
                ('is_single_file', models.BooleanField()),
                ('knows_evm_version', models.BooleanField()),
                ('license', models.CharField(max_length=2)),
                ('state', models.SmallIntegerField(choices=[(0, 'waiting'), (1, 'running'), (2, 'passed'), (3, 'failed')])),
                ('worker', models.CharField(help_text='The process that took it last; else empty', max_length=32)),
                ('tries', models.SmallIntegerField(help_text='How often a process took it')),
                ('submitted_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('reason', models.CharField(help_text='Why it failed, as Sourcify calls it; else empty', max_length=60)),
                ('message', models.TextField(help_text='Why it failed, for people; else empty')),
                ('details', models.TextField(help_text="JSON that is added to Sourcify's error; else {}")),
                ('contract', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to='explorer_app.verifiedcontract')),
            ],
            options={
                'ordering': ['-submitted_at'],
                'indexes': [models.Index(condition=models.Q(('state__lt', 2)), fields=['submitted_at'], name='explorer_verifications_open'), models.Index(fields=['finished_at'], name='explorer_verifications_over')],
            },
        ),
    ]
