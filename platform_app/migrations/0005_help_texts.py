
import chaindb.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('platform_app', '0004_uptime_and_genesis'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='mempooltx',
            options={'ordering': ['id'], 'verbose_name': 'pending transaction'},
        ),
        migrations.AlterField(
            model_name='block',
            name='raw',
            field=chaindb.fields.BytesField(help_text='The serialised block; its SHA-256 is the block ID'),
        ),
        migrations.AlterField(
            model_name='block',
            name='time',
            field=models.BigIntegerField(db_index=True, help_text='Chain time after the block, in Unix seconds'),
        ),
        migrations.AlterField(
            model_name='blockchain',
            name='blockchain_id',
            field=chaindb.fields.IDField(help_text='ID of the transaction that created it', primary_key=True, serialize=False),
        ),
        migrations.AlterField(
            model_name='blockchain',
            name='fx_ids',
            field=chaindb.fields.BytesField(help_text='IDs of the feature extensions, 32 bytes each'),
        ),
        migrations.AlterField(
            model_name='blockchain',
            name='genesis_size',
            field=models.IntegerField(help_text='Size of the genesis in bytes; the transaction contains the genesis'),
        ),
        migrations.AlterField(
            model_name='blockchain',
            name='position',
            field=models.BigIntegerField(help_text="Primary key of the transaction's row", unique=True),
        ),
        migrations.AlterField(
            model_name='blockchain',
            name='subnet_id',
            field=chaindb.fields.IDField(help_text='ID of the subnet that validates it; all zeros: the Primary Network'),
        ),
        migrations.AlterField(
            model_name='chain',
            name='height',
            field=models.BigIntegerField(help_text='Height of the last accepted block'),
        ),
        migrations.AlterField(
            model_name='chain',
            name='stakers_height',
            field=models.BigIntegerField(help_text='Height of the last block that changed a staker; caches of stakers hold the state after it'),
        ),
        migrations.AlterField(
            model_name='chain',
            name='timestamp',
            field=models.BigIntegerField(help_text='Chain time in Unix seconds'),
        ),
        migrations.AlterField(
            model_name='chain',
            name='tip',
            field=chaindb.fields.IDField(help_text='ID of the last accepted block'),
        ),
        migrations.AlterField(
            model_name='chain',
            name='unit',
            field=models.BigIntegerField(help_text='Number of smallest units in a coin'),
        ),
        migrations.AlterField(
            model_name='droppedtx',
            name='dropped_at',
            field=models.BigIntegerField(help_text='Time of the drop in Unix seconds'),
        ),
        migrations.AlterField(
            model_name='keystorekey',
            name='address',
            field=chaindb.fields.ShortIDField(help_text='Address of the key'),
        ),
        migrations.AlterField(
            model_name='keystoreuser',
            name='created_at',
            field=models.BigIntegerField(help_text='Time of creation in Unix seconds'),
        ),
        migrations.AlterField(
            model_name='keystoreuser',
            name='memory_cost',
            field=models.IntegerField(help_text='argon2id: memory in KiB'),
        ),
        migrations.AlterField(
            model_name='keystoreuser',
            name='parallelism',
            field=models.IntegerField(help_text='argon2id: number of lanes'),
        ),
        migrations.AlterField(
            model_name='keystoreuser',
            name='time_cost',
            field=models.IntegerField(help_text='argon2id: number of passes'),
        ),
        migrations.AlterField(
            model_name='keystoreuser',
            name='verifier',
            field=chaindb.fields.BytesField(help_text='Hash of the derived key; detects a wrong password'),
        ),
        migrations.AlterField(
            model_name='mempoolinput',
            name='utxo_id',
            field=chaindb.fields.IDField(help_text='At most one pending transaction spends it', primary_key=True, serialize=False),
        ),
        migrations.AlterField(
            model_name='mempooltx',
            name='received_at',
            field=models.BigIntegerField(help_text='Time of arrival in Unix seconds'),
        ),
        migrations.AlterField(
            model_name='mempooltx',
            name='size',
            field=models.IntegerField(help_text='Size of the signed transaction in bytes'),
        ),
        migrations.AlterField(
            model_name='rewardutxo',
            name='height',
            field=models.BigIntegerField(help_text='Height of the block that paid the reward'),
        ),
        migrations.AlterField(
            model_name='rewardutxo',
            name='output',
            field=chaindb.fields.BytesField(help_text='The output as serialised in transactions, with its type ID'),
        ),
        migrations.AlterField(
            model_name='rewardutxo',
            name='output_index',
            field=models.BigIntegerField(help_text='Index after the outputs and the stake outputs of that transaction'),
        ),
        migrations.AlterField(
            model_name='sharedutxo',
            name='height',
            field=models.BigIntegerField(help_text='Height of the block that created it'),
        ),
        migrations.AlterField(
            model_name='sharedutxo',
            name='locktime',
            field=chaindb.fields.UInt64Field(help_text='Unix seconds before which the owners cannot sign; 0: no lock'),
        ),
        migrations.AlterField(
            model_name='sharedutxo',
            name='output',
            field=chaindb.fields.BytesField(help_text='The output as serialised in transactions, with its type ID'),
        ),
        migrations.AlterField(
            model_name='sharedutxo',
            name='threshold',
            field=models.BigIntegerField(help_text='Number of owners that must sign'),
        ),
        migrations.AlterField(
            model_name='stakeoutput',
            name='output',
            field=chaindb.fields.BytesField(help_text='The output as serialised in transactions, with its type ID'),
        ),
        migrations.AlterField(
            model_name='stakeoutput',
            name='output_index',
            field=models.IntegerField(help_text='Index in the stake outputs of its transaction'),
        ),
        migrations.AlterField(
            model_name='staker',
            name='added_height',
            field=models.BigIntegerField(help_text='Height of the block that contains its transaction'),
        ),
        migrations.AlterField(
            model_name='staker',
            name='delegatee_reward',
            field=chaindb.fields.UInt64Field(default=0, help_text="A validator's share of its delegators' rewards"),
        ),
        migrations.AlterField(
            model_name='staker',
            name='delegation_rewards_owner',
            field=chaindb.fields.BytesField(help_text='Serialised OutputOwners, without type ID', null=True),
        ),
        migrations.AlterField(
            model_name='staker',
            name='joined_height',
            field=models.BigIntegerField(help_text='Height of the block in which it became current', null=True),
        ),
        migrations.AlterField(
            model_name='staker',
            name='left_height',
            field=models.BigIntegerField(help_text='Height of the block in which it left', null=True),
        ),
        migrations.AlterField(
            model_name='staker',
            name='left_time',
            field=models.BigIntegerField(help_text='Chain time when it left, in Unix seconds', null=True),
        ),
        migrations.AlterField(
            model_name='staker',
            name='node',
            field=models.CharField(help_text='The node ID as text, for SQL queries', max_length=64),
        ),
        migrations.AlterField(
            model_name='staker',
            name='position',
            field=models.BigIntegerField(help_text="Primary key of the transaction's row", unique=True),
        ),
        migrations.AlterField(
            model_name='staker',
            name='potential_reward',
            field=chaindb.fields.UInt64Field(help_text='Set when the staker becomes current; 0 before'),
        ),
        migrations.AlterField(
            model_name='staker',
            name='proof_of_possession',
            field=chaindb.fields.BytesField(help_text='BLS signature, 96 bytes', null=True),
        ),
        migrations.AlterField(
            model_name='staker',
            name='public_key',
            field=chaindb.fields.BytesField(help_text='BLS public key, 48 bytes', null=True),
        ),
        migrations.AlterField(
            model_name='staker',
            name='rewards_owner',
            field=chaindb.fields.BytesField(help_text='Serialised OutputOwners, without type ID', null=True),
        ),
        migrations.AlterField(
            model_name='staker',
            name='shares',
            field=models.IntegerField(help_text='Delegation fee in millionths; null if delegation is impossible', null=True),
        ),
        migrations.AlterField(
            model_name='staker',
            name='weight',
            field=chaindb.fields.UInt64Field(help_text='Stake in the smallest units; on permissioned subnets a weight without unit'),
        ),
        migrations.AlterField(
            model_name='subnet',
            name='locktime',
            field=chaindb.fields.UInt64Field(help_text='Unix seconds before which the owners cannot sign; 0: no lock'),
        ),
        migrations.AlterField(
            model_name='subnet',
            name='owner',
            field=chaindb.fields.BytesField(help_text='Serialised OutputOwners, without type ID'),
        ),
        migrations.AlterField(
            model_name='subnet',
            name='position',
            field=models.BigIntegerField(help_text="Primary key of the transaction's row", unique=True),
        ),
        migrations.AlterField(
            model_name='subnet',
            name='subnet_id',
            field=chaindb.fields.IDField(help_text='ID of the transaction that created it', primary_key=True, serialize=False),
        ),
        migrations.AlterField(
            model_name='subnet',
            name='threshold',
            field=models.BigIntegerField(help_text='Number of control keys that must sign'),
        ),
        migrations.AlterField(
            model_name='tx',
            name='burned',
            field=chaindb.fields.UInt64Field(help_text='Burned amount of the staking asset, in the smallest units'),
        ),
        migrations.AlterField(
            model_name='tx',
            name='height',
            field=models.BigIntegerField(help_text='Height of the block that contains it'),
        ),
        migrations.AlterField(
            model_name='tx',
            name='index',
            field=models.IntegerField(help_text='Index in the block; a proposal comes last'),
        ),
        migrations.AlterField(
            model_name='tx',
            name='raw',
            field=chaindb.fields.BytesField(help_text='The signed transaction; its SHA-256 is the transaction ID'),
        ),
        migrations.AlterField(
            model_name='uptimetracking',
            name='began_at',
            field=models.BigIntegerField(help_text='Time at which the first peer connected, in Unix seconds'),
        ),
        migrations.AlterField(
            model_name='uptimetracking',
            name='settled_at',
            field=models.BigIntegerField(help_text='Time at which all uptimes were last written, in Unix seconds', null=True),
        ),
        migrations.AlterField(
            model_name='utxo',
            name='height',
            field=models.BigIntegerField(help_text='Height of the block that created it'),
        ),
        migrations.AlterField(
            model_name='utxo',
            name='locktime',
            field=chaindb.fields.UInt64Field(help_text='Unix seconds before which the owners cannot sign; 0: no lock'),
        ),
        migrations.AlterField(
            model_name='utxo',
            name='output',
            field=chaindb.fields.BytesField(help_text='The output as serialised in transactions, with its type ID'),
        ),
        migrations.AlterField(
            model_name='utxo',
            name='stakeable_locktime',
            field=chaindb.fields.UInt64Field(help_text='Unix seconds before which it can only be staked; 0: no lock'),
        ),
        migrations.AlterField(
            model_name='utxo',
            name='threshold',
            field=models.BigIntegerField(help_text='Number of owners that must sign'),
        ),
        migrations.AlterField(
            model_name='validatoruptime',
            name='last_updated',
            field=models.BigIntegerField(help_text="Unix seconds; initially the staker's start time"),
        ),
    ]
