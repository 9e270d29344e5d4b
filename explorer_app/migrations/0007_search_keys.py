"""Keys for finding tokens and verified contracts by the beginning of their names."""

import unicodedata

import chaindb.fields
from django.db import migrations, models

MAX_NAME, MAX_KEY, AT_ONCE = 255, 64, 1000


def key_of(text):
    """Return the key of a name, as `explorer_app.tokens.strings` defined it at the time of this migration."""
    folded = unicodedata.normalize("NFKC", text or "").casefold()
    return "".join(folded.split())[:MAX_NAME].encode()[:MAX_KEY] or None


def write_keys(apps, schema_editor):
    alias = schema_editor.connection.alias
    for model, columns in (("Token", ("name", "symbol")), ("VerifiedContract", ("name",))):
        everything = apps.get_model("explorer_app", model).objects.using(alias).only("pk", *columns)
        rows = list(everything.order_by("pk")[:AT_ONCE])
        while rows:
            for row in rows:
                for column in columns:
                    setattr(row, f"{column}_key", key_of(getattr(row, column)))
            everything.bulk_update(rows, [f"{column}_key" for column in columns])
            rows = list(everything.filter(pk__gt=rows[-1].pk).order_by("pk")[:AT_ONCE])


class Migration(migrations.Migration):

    dependencies = [
        ('explorer_app', '0006_never_asked'),
    ]

    operations = [
        migrations.AddField(
            model_name='token',
            name='name_key',
            field=chaindb.fields.BytesField(help_text='What its name begins with, as it is looked for; null: it has none', null=True),
        ),
        migrations.AddField(
            model_name='token',
            name='symbol_key',
            field=chaindb.fields.BytesField(help_text='Likewise', null=True),
        ),
        migrations.AddField(
            model_name='verifiedcontract',
            name='name_key',
            field=chaindb.fields.BytesField(help_text='What its name begins with, as it is looked for', null=True),
        ),
        migrations.RunPython(write_keys, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name='token',
            index=models.Index(condition=models.Q(('name_key__isnull', False)), fields=['name_key', 'first_log'], name='explorer_token_found_by_name'),
        ),
        migrations.AddIndex(
            model_name='token',
            index=models.Index(condition=models.Q(('symbol_key__isnull', False)), fields=['symbol_key', 'first_log'], name='explorer_token_found_by_symbol'),
        ),
        migrations.AddIndex(
            model_name='verifiedcontract',
            index=models.Index(condition=models.Q(('name_key__isnull', False)), fields=['name_key', 'id'], name='explorer_verified_by_name'),
        ),
    ]
