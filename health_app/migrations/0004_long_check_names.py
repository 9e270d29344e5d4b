"""Names of checks have up to 64 characters, as many as a blockchain ID has.

SQLite does not limit texts, so only PostgreSQL's column changes.
"""

from django.db import migrations, models


def widen(size):
    def change(apps, schema_editor):
        if schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(
                f"ALTER TABLE health_app_healthchange ALTER COLUMN name TYPE varchar({size})"
            )

    return change


class Migration(migrations.Migration):
    dependencies = [("health_app", "0003_plain_help_texts")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(widen(64), widen(32))],
            state_operations=[
                migrations.AlterField(
                    "HealthChange", "name", models.CharField(max_length=64, verbose_name="check")
                ),
            ],
        ),
    ]
