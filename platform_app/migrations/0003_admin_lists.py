"""Validators and delegators as listed in the admin, and the indexes for those lists."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("platform_app", "0002_sql_views")]

    operations = [
        migrations.AlterModelOptions(
            name="tx", options={"ordering": ["-id"], "verbose_name": "transaction"}
        ),
        migrations.CreateModel(
            name="Delegator",
            fields=[],
            options={
                "verbose_name": "delegator",
                "ordering": ["-position"],
                "proxy": True,
                "indexes": [],
                "constraints": [],
            },
            bases=("platform_app.staker",),
        ),
        migrations.CreateModel(
            name="Validator",
            fields=[],
            options={
                "verbose_name": "validator",
                "ordering": ["-position"],
                "proxy": True,
                "indexes": [],
                "constraints": [],
            },
            bases=("platform_app.staker",),
        ),
        migrations.AddIndex(
            model_name="staker",
            index=models.Index(fields=["is_delegator", "phase", "position"], name="platform_role"),
        ),
        migrations.AddIndex(
            model_name="staker",
            index=models.Index(
                fields=["is_delegator", "node_id", "phase", "position"],
                name="platform_role_of_node",
            ),
        ),
        migrations.AddIndex(
            model_name="staker",
            index=models.Index(
                fields=["is_delegator", "subnet_id", "phase", "position"],
                name="platform_role_of_subnet",
            ),
        ),
    ]
