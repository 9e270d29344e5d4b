"""The history of health: one row for each change of a check."""

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = []

    operations = [
        migrations.CreateModel(
            name="HealthChange",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=32, verbose_name="check")),
                ("healthy", models.BooleanField()),
                ("error", models.TextField(help_text="What was wrong; empty when nothing was")),
                ("message", models.JSONField(help_text="What was measured then", null=True)),
                ("at", models.DateTimeField()),
            ],
            options={
                "verbose_name": "health change",
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["name", "id"], name="health_change_of_check"),
                    models.Index(
                        fields=["id"],
                        condition=models.Q(healthy=False),
                        name="health_change_failures",
                    ),
                ],
            },
        ),
    ]
