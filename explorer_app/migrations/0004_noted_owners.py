"""Owners of a range, as far as the gas of its transaction allows, and an index of tokens that have an owner."""

import chaindb.fields
from django.db import migrations, models

MOST = 5000
"""Number of owners per range that were recorded before this migration."""


def note(apps, schema_editor):
    alias = schema_editor.connection.alias
    items, transfers = (apps.get_model("explorer_app", name).objects.using(alias) for name in ("TokenItem", "TokenTransfer"))
    items.filter(owner=bytes(20)).update(owner=None)
    transfers.filter(last_token_id__isnull=False).update(noted=MOST)


def write_zero(apps, schema_editor):
    items = apps.get_model("explorer_app", "TokenItem").objects.using(schema_editor.connection.alias)
    items.filter(owner=None).update(owner=bytes(20))


class Migration(migrations.Migration):

    dependencies = [
        ('explorer_app', '0003_contracts'),
    ]

    operations = [
        migrations.AddField(
            model_name='tokentransfer',
            name='noted',
            field=models.SmallIntegerField(help_text='Of a range: from its first on so many have their owner noted', null=True),
        ),
        migrations.AlterField(
            model_name='tokenitem',
            name='owner',
            field=chaindb.fields.AddressField(help_text='Null: it was burned', null=True),
        ),
        migrations.RunPython(note, write_zero),
        migrations.AddIndex(
            model_name='tokenitem',
            index=models.Index(condition=models.Q(('owner__isnull', False)), fields=['contract', 'token_id'], name='explorer_item_owned'),
        ),
        migrations.AddIndex(
            model_name='tokentransfer',
            index=models.Index(condition=models.Q(('last_token_id__isnull', False)), fields=['contract', 'token_id'], name='explorer_ranges_by_first'),
        ),
    ]
