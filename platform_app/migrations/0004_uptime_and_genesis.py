"""Separate tables for connected nodes and for the genesis bytes of the chain."""

from importlib import import_module

from django.db import migrations, models

import chaindb.fields
from chaindb import migrating as views

_BEFORE = {"p_uptime": import_module("platform_app.migrations.0002_sql_views").VIEWS["p_uptime"]}

VIEWS = {
    "p_uptime": (
        # A node that returned has several staking periods; it is connected in the current one.
        "platform_app_validatoruptime u JOIN platform_app_staker s ON s.tx_id = u.staker_id "
        "LEFT JOIN platform_app_connectednode c ON c.node_id = s.node_id AND s.phase = 2",
        "s.node AS node_id, {hex:s.tx_id} AS tx_id, "
        + views.named("s.phase", {1: "pending", 2: "current", 3: "past"})
        + " AS phase, {time:s.start_time} AS start_time, u.up_duration, "
        "{time:u.last_updated} AS last_updated, {time:c.since} AS connected_since, "
        "CASE WHEN u.last_updated > s.start_time "
        "THEN 1.0 * u.up_duration / (u.last_updated - s.start_time) ELSE 1.0 END AS uptime",
    ),
}


def drop_before(apps, schema_editor):
    views.drop(schema_editor, _BEFORE)


def create_before(apps, schema_editor):
    views.create(schema_editor, _BEFORE)


def create(apps, schema_editor):
    views.create(schema_editor, VIEWS)


def drop(apps, schema_editor):
    views.drop(schema_editor, VIEWS)


class Migration(migrations.Migration):
    dependencies = [("platform_app", "0003_admin_lists")]

    operations = [
        # A view depends on the columns that it shows.
        migrations.RunPython(drop_before, create_before),
        migrations.RemoveField(model_name="validatoruptime", name="connected_since"),
        migrations.CreateModel(
            name="ConnectedNode",
            fields=[
                (
                    "node_id",
                    chaindb.fields.NodeIDField(primary_key=True, serialize=False),
                ),
                ("since", models.BigIntegerField(help_text="Unix seconds by the node's clock")),
            ],
        ),
        migrations.CreateModel(
            name="UptimeTracking",
            fields=[
                (
                    "id",
                    models.SmallIntegerField(default=1, primary_key=True, serialize=False),
                ),
                (
                    "began_at",
                    models.BigIntegerField(help_text="Unix seconds: the first peer's coming"),
                ),
                (
                    "settled_at",
                    models.BigIntegerField(
                        help_text="Unix seconds: when all uptimes were written last", null=True
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "uptime tracking",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("id", 1)), name="platform_one_tracking"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Genesis",
            fields=[
                (
                    "genesis_hash",
                    chaindb.fields.IDField(
                        help_text="SHA-256 of the genesis bytes",
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("raw", chaindb.fields.BytesField(help_text="The genesis bytes")),
            ],
            options={"verbose_name_plural": "genesis"},
        ),
        migrations.RunPython(create, drop),
    ]
