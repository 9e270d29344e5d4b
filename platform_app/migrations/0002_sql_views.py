"""Views for SQL users: identifiers as 0x text, nodes as NodeID-…, times as timestamps.

They are a public interface: columns are added, but never renamed or removed (docs/sql.md).
"""

from django.db import migrations

from chaindb import migrating as views

TX_TYPES = {
    12: "AddValidatorTx",
    13: "AddSubnetValidatorTx",
    14: "AddDelegatorTx",
    15: "CreateChainTx",
    16: "CreateSubnetTx",
    17: "ImportTx",
    18: "ExportTx",
    19: "AdvanceTimeTx",
    20: "RewardValidatorTx",
    23: "RemoveSubnetValidatorTx",
    24: "TransformSubnetTx",
    25: "AddPermissionlessValidatorTx",
    26: "AddPermissionlessDelegatorTx",
    33: "TransferSubnetOwnershipTx",
    34: "BaseTx",
    35: "ConvertSubnetToL1Tx",
    36: "RegisterL1ValidatorTx",
    37: "SetL1ValidatorWeightTx",
    38: "IncreaseL1ValidatorBalanceTx",
    39: "DisableL1ValidatorTx",
    40: "AddAutoRenewedValidatorTx",
    41: "SetAutoRenewedValidatorConfigTx",
    42: "RewardAutoRenewedValidatorTx",
}
BLOCK_TYPES = {
    0: "ApricotProposalBlock",
    1: "ApricotAbortBlock",
    2: "ApricotCommitBlock",
    3: "ApricotStandardBlock",
    4: "ApricotAtomicBlock",
    29: "BanffProposalBlock",
    30: "BanffAbortBlock",
    31: "BanffCommitBlock",
    32: "BanffStandardBlock",
}
STATUSES = {4: "Committed", 5: "Aborted"}
PHASES = {1: "pending", 2: "current", 3: "past"}
OUTCOMES = {1: "rewarded", 2: "not rewarded", 3: "ended", 4: "removed"}

STAKER = (
    "{hex:s.tx_id} AS tx_id, s.node AS node_id, {hex:s.subnet_id} AS subnet_id, "
    + views.named("s.phase", PHASES)
    + " AS phase, {number:s.weight} AS weight, {real:s.weight} / n.unit AS coins, "
    "{time:s.start_time} AS start_time, {time:s.end_time} AS end_time, "
    "{number:s.potential_reward} AS potential_reward, "
    + views.named("s.outcome", OUTCOMES)
    + " AS outcome, s.added_height, s.joined_height, s.left_height, {time:s.left_time} AS left_time"
)
STAKERS = "platform_app_staker s CROSS JOIN platform_app_chain n"

VIEWS = {
    "p_blocks": (
        "platform_app_block b",
        "b.height, {hex:b.block_id} AS block_id, {hex:b.parent_id} AS parent_id, "
        "{time:b.time} AS time, "
        + views.named("b.kind", BLOCK_TYPES)
        + " AS type, b.tx_count, length(b.raw) AS size",
    ),
    "p_txs": (
        "platform_app_tx t JOIN platform_app_block b ON b.height = t.height "
        "CROSS JOIN platform_app_chain n",
        '{hex:t.tx_id} AS tx_id, t.height, t."index" AS tx_index, {time:b.time} AS time, '
        + views.named("t.kind", TX_TYPES)
        + " AS type, "
        + views.named("t.status", STATUSES)
        + " AS status, {number:t.burned} AS burned, {real:t.burned} / n.unit AS burned_coins, "
        "length(t.raw) AS size",
    ),
    "p_utxos": (
        "platform_app_utxo u CROSS JOIN platform_app_chain n",
        "{hex:u.utxo_id} AS utxo_id, {hex:u.tx_id} AS tx_id, u.output_index, "
        "{hex:u.asset_id} AS asset_id, {number:u.amount} AS amount, "
        "{real:u.amount} / n.unit AS coins, {number:u.locktime} AS locktime, "
        "{number:u.stakeable_locktime} AS stakeable_locktime, u.threshold, u.height",
    ),
    "p_utxo_owners": (
        "platform_app_utxoowner o JOIN platform_app_utxo u ON u.utxo_id = o.utxo_id",
        "{hex:o.address} AS address, {hex:o.utxo_id} AS utxo_id, {hex:u.asset_id} AS asset_id, "
        "{number:u.amount} AS amount, {number:u.locktime} AS locktime, "
        "{number:u.stakeable_locktime} AS stakeable_locktime, u.threshold",
    ),
    "p_balances": (
        "platform_app_utxoowner o JOIN platform_app_utxo u ON u.utxo_id = o.utxo_id "
        "CROSS JOIN platform_app_chain n GROUP BY o.address, u.asset_id, n.unit",
        "{hex:o.address} AS address, {hex:u.asset_id} AS asset_id, count(*) AS utxo_count, "
        "sum({integer:u.amount}) AS amount, sum({real:u.amount}) / n.unit AS coins",
    ),
    "p_shared_utxos": (
        "platform_app_sharedutxo u CROSS JOIN platform_app_chain n",
        "{hex:u.utxo_id} AS utxo_id, {hex:u.source_chain} AS source_chain, "
        "{hex:u.destination_chain} AS destination_chain, {hex:u.tx_id} AS tx_id, u.output_index, "
        "{hex:u.asset_id} AS asset_id, {number:u.amount} AS amount, "
        "{real:u.amount} / n.unit AS coins, u.threshold",
    ),
    "p_validators": (
        f"{STAKERS} WHERE NOT s.is_delegator",
        STAKER
        + ", {number:s.delegatee_reward} AS delegatee_reward, "
        "s.shares / 10000.0 AS delegation_fee, {hex:s.public_key} AS public_key",
    ),
    "p_delegations": (f"{STAKERS} WHERE s.is_delegator", STAKER),
    "p_rewards": (
        "platform_app_rewardutxo r JOIN platform_app_staker s ON s.tx_id = r.tx_id "
        "JOIN platform_app_block b ON b.height = r.height CROSS JOIN platform_app_chain n",
        "{hex:r.tx_id} AS tx_id, s.node AS node_id, {hex:s.subnet_id} AS subnet_id, "
        "s.is_delegator, {hex:r.utxo_id} AS utxo_id, {hex:r.asset_id} AS asset_id, "
        "{number:r.amount} AS amount, {real:r.amount} / n.unit AS coins, r.height, "
        "{time:b.time} AS time",
    ),
    "p_uptime": (
        "platform_app_validatoruptime u JOIN platform_app_staker s ON s.tx_id = u.staker_id",
        "s.node AS node_id, {hex:s.tx_id} AS tx_id, "
        + views.named("s.phase", PHASES)
        + " AS phase, {time:s.start_time} AS start_time, u.up_duration, "
        "{time:u.last_updated} AS last_updated, {time:u.connected_since} AS connected_since",
    ),
    "p_subnets": (
        "platform_app_subnet s JOIN platform_app_tx t ON t.id = s.position "
        "JOIN platform_app_block b ON b.height = t.height",
        "{hex:s.subnet_id} AS subnet_id, t.height, {time:b.time} AS time, s.threshold, "
        "{number:s.locktime} AS locktime, (SELECT count(*) FROM platform_app_subnetowner o "
        "WHERE o.subnet_id = s.subnet_id) AS control_key_count",
    ),
    "p_control_keys": (
        "platform_app_subnetowner o",
        "{hex:o.subnet_id} AS subnet_id, {hex:o.address} AS address",
    ),
    "p_blockchains": (
        "platform_app_blockchain c JOIN platform_app_tx t ON t.id = c.position "
        "JOIN platform_app_block b ON b.height = t.height",
        "{hex:c.blockchain_id} AS blockchain_id, {hex:c.subnet_id} AS subnet_id, c.name, "
        "{hex:c.vm_id} AS vm_id, c.genesis_size, t.height, {time:b.time} AS time",
    ),
    "p_supply": (
        "platform_app_supply s CROSS JOIN platform_app_chain n",
        "{hex:s.subnet_id} AS subnet_id, {number:s.amount} AS amount, "
        "{real:s.amount} / n.unit AS coins",
    ),
    "p_mempool": (
        "platform_app_mempooltx m",
        "{hex:m.tx_id} AS tx_id, "
        + views.named("m.kind", TX_TYPES)
        + " AS type, m.size, {time:m.received_at} AS received_at",
    ),
    "p_dropped": (
        "platform_app_droppedtx d",
        "{hex:d.tx_id} AS tx_id, d.reason, {time:d.dropped_at} AS dropped_at",
    ),
}


def create(apps, schema_editor):
    views.create(schema_editor, VIEWS)


def drop(apps, schema_editor):
    views.drop(schema_editor, VIEWS)


class Migration(migrations.Migration):
    dependencies = [("platform_app", "0001_initial")]

    operations = [migrations.RunPython(create, drop)]
