"""Nobody takes turns any more, so nobody calls a roll, and two blocks of one height are siblings."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("network_app", "0006_chainsync_obstacle")]

    operations = [
        migrations.RemoveField(model_name="chainsync", name="conflict"),
        migrations.RemoveField(model_name="chainsync", name="roll"),
    ]
