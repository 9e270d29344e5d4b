"""Auto-renewed validators, their renewed periods, and both in the views for SQL users."""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

import chaindb.fields
from chaindb import migrating as views

_FIRST = import_module("platform_app.migrations.0002_sql_views")
_BEFORE = {name: _FIRST.VIEWS[name] for name in ("p_validators", "p_rewards")}

# Stakes are below 2^63, so that sums fit into SQLite's integers.
VIEWS = {
    "p_validators": (
        "platform_app_staker s LEFT JOIN platform_app_autorenewedvalidator a ON a.staker_id = s.tx_id "
        "CROSS JOIN platform_app_chain n WHERE NOT s.is_delegator",
        _FIRST.VIEWS["p_validators"][1]
        + ", a.next_period, a.auto_compound_shares / 10000.0 AS auto_compound, "
        "{integer:a.accrued_validation_rewards} + {integer:a.accrued_delegatee_rewards} AS restaked",
    ),
    "p_renewed_periods": (
        "platform_app_renewedperiod p JOIN platform_app_staker s ON s.tx_id = p.staker_id "
        "CROSS JOIN platform_app_chain n",
        "{hex:p.staker_id} AS tx_id, s.node AS node_id, {number:p.weight} AS weight, "
        "{real:p.weight} / n.unit AS coins, {time:p.start_time} AS start_time, "
        "{time:p.end_time} AS end_time, {number:p.potential_reward} AS potential_reward, "
        "{number:p.delegatee_reward} AS delegatee_reward, p.up_duration, p.joined_height, "
        "p.left_height, {hex:p.reward_tx_id} AS reward_tx_id",
    ),
    "p_rewards": (
        # Rewards of auto-renewed validators are outputs of the transactions that ended their periods.
        "platform_app_rewardutxo r "
        "LEFT JOIN platform_app_renewedperiod p ON p.reward_tx_id = r.tx_id "
        "LEFT JOIN platform_app_autorenewedvalidator a ON a.reward_tx_id = r.tx_id "
        "JOIN platform_app_staker s ON s.tx_id = COALESCE(p.staker_id, a.staker_id, r.tx_id) "
        "JOIN platform_app_block b ON b.height = r.height CROSS JOIN platform_app_chain n",
        _FIRST.VIEWS["p_rewards"][1] + ", {hex:s.tx_id} AS staking_tx_id",
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

    dependencies = [
        ('platform_app', '0010_subnet_uptimes'),
    ]

    operations = [
        # The views are created again with more columns.
        migrations.RunPython(drop_before, create_before),
        migrations.AlterField(
            model_name='rewardutxo',
            name='tx_id',
            field=chaindb.fields.IDField(help_text='The transaction that added the staker; of an auto-renewed validator, the one that rewarded it'),
        ),
        migrations.CreateModel(
            name='AutoRenewedValidator',
            fields=[
                ('staker', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='auto_renewal', serialize=False, to='platform_app.staker')),
                ('authority', chaindb.fields.BytesField(help_text='Serialised OutputOwners, without type ID, of the keys that may change the terms')),
                ('next_period', models.BigIntegerField(help_text='Seconds; 0: the validator leaves at the end of the present period')),
                ('auto_compound_shares', models.IntegerField(help_text='The part of its rewards that is restaked, in millionths')),
                ('accrued_validation_rewards', chaindb.fields.UInt64Field(help_text='Restaked rewards for its own stake, part of its weight')),
                ('accrued_delegatee_rewards', chaindb.fields.UInt64Field(help_text="Restaked shares of its delegators' rewards, part of its weight")),
                ('reward_tx_id', chaindb.fields.IDField(help_text='The transaction with which it left; its rewards are outputs of it', null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['reward_tx_id'], name='platform_last_reward_tx')],
            },
        ),
        migrations.CreateModel(
            name='RenewedPeriod',
            fields=[
                ('pk', models.CompositePrimaryKey('staker_id', 'joined_height', blank=True, editable=False, primary_key=True, serialize=False)),
                ('joined_height', models.BigIntegerField(help_text='Height of the block in which it began')),
                ('left_height', models.BigIntegerField(help_text='Height of the block in which the next one began')),
                ('start_time', models.BigIntegerField(help_text='Unix seconds')),
                ('end_time', models.BigIntegerField(help_text='Unix seconds')),
                ('weight', chaindb.fields.UInt64Field(help_text='Stake in the smallest units, restaked rewards included')),
                ('potential_reward', chaindb.fields.UInt64Field(help_text='The reward for its own stake, which it was given')),
                ('delegatee_reward', chaindb.fields.UInt64Field(help_text="Its share of its delegators' rewards in the period")),
                ('up_duration', models.BigIntegerField(help_text='Seconds online')),
                ('reward_tx_id', chaindb.fields.IDField(help_text='The transaction that ended it; rewards that were not restaked are outputs of it')),
                ('staker', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='renewed_periods', to='platform_app.staker')),
            ],
            options={
                'ordering': ['-joined_height'],
                'indexes': [models.Index(fields=['left_height', 'joined_height'], name='platform_renewed_members'), models.Index(fields=['reward_tx_id'], name='platform_renewing_tx')],
            },
        ),
        migrations.RunPython(create, drop),
    ]
