"""Key tables by their rowids that earlier versions keyed by a separate index."""

from django.db import migrations

from chaindb.migrating import rebuild_with_rowid


class Migration(migrations.Migration):

    dependencies = [
        ('chaindb', '0003_generation'),
    ]

    operations = [
        migrations.RunPython(rebuild_with_rowid, migrations.RunPython.noop),
    ]
