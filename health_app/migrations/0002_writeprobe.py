"""A row that is written to test whether the database accepts writes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("health_app", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="WriteProbe",
            fields=[
                ("id", models.SmallIntegerField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
            ],
        ),
    ]
