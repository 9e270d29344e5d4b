"""Views for people who query: block IDs as 0x text, nodes as NodeID-…, times as timestamps.

They are an interface: columns are added, never renamed or taken away (docs/sql.md).
"""

from django.db import migrations

from chaindb import migrating as views

VIEWS = {
    "n_peers": (
        "network_app_peer p",
        "p.node AS node_id, p.connected_since IS NOT NULL AS is_connected, "
        "p.connected_since, p.first_seen, p.last_seen, p.last_sent, p.last_received, "
        "p.times_connected, p.ip, p.public_ip, p.outbound AS is_outbound, p.version, "
        "p.observed_uptime, p.benched",
    ),
    "n_bootstrap": (
        "network_app_chainsync s",
        "s.chain, s.phase AS state, s.start_height, s.height, s.target_height, s.fetched, "
        "s.outstanding, s.blocks_per_second, s.seconds_left, s.started_at, s.finished_at, "
        "s.updated_at",
    ),
    "n_block_proposers": (
        "network_app_outerblock o LEFT JOIN network_app_certificate c ON c.node_id = o.proposer_id",
        "o.chain, o.height, {hex:o.block_id} AS block_id, c.node AS node_id, "
        "{time:o.time} AS time, o.p_chain_height, o.epoch_number",
    ),
}


def create(apps, schema_editor):
    views.create(schema_editor, VIEWS)


def drop(apps, schema_editor):
    views.drop(schema_editor, VIEWS)


class Migration(migrations.Migration):
    dependencies = [("network_app", "0001_initial")]

    operations = [migrations.RunPython(create, drop)]
