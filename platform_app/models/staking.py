"""All stakers ever, with the outputs that they have staked, uptimes (pchain.md 7.5), subnets and blockchains.

A staker's row is written when its transaction is accepted and updated in each of its phases. The
validator set at a height consists of the stakers that had joined and had not left at that height.
"""

from django.db import models
from django.db.models import Q
from typing_extensions import override

from chaindb.fields import BytesField, IDField, NodeIDField, ShortIDField, UInt64Field


class Phase(models.IntegerChoices):
    """The phase of a staker: pending, current or past."""

    PENDING = 1, "pending"
    CURRENT = 2, "current"
    PAST = 3, "past"


class Outcome(models.IntegerChoices):
    """How a staker left."""

    REWARDED = 1, "rewarded"
    UNREWARDED = 2, "not rewarded"
    ENDED = 3, "ended"
    """Its period ended without a reward (permissioned validators of subnets)."""
    REMOVED = 4, "removed"
    """The subnet's owner removed it."""


class Staker(models.Model):
    """A validator or a delegator, added by one staking transaction."""

    tx_id = IDField(primary_key=True)
    position = models.BigIntegerField(unique=True, help_text="Primary key of the transaction's row")
    phase = models.SmallIntegerField(choices=Phase)
    is_delegator = models.BooleanField()
    subnet_id = IDField()
    node_id = NodeIDField()
    node = models.CharField(max_length=64, help_text="The node ID as text, for SQL queries")
    # Weight, times, rewards and `joined_height` of an auto-renewed validator are those of its present or last period.
    weight = UInt64Field(
        help_text="Stake in the smallest units; on permissioned subnets a weight without unit"
    )
    start_time = models.BigIntegerField(help_text="Unix seconds")
    end_time = models.BigIntegerField(help_text="Unix seconds")
    priority = models.SmallIntegerField(help_text="Order of changes in one second (pchain.md 5.4)")
    potential_reward = UInt64Field(help_text="Set when the staker becomes current; 0 before")
    delegatee_reward = UInt64Field(
        default=0, help_text="A validator's share of its delegators' rewards"
    )
    shares = models.IntegerField(
        null=True, help_text="Delegation fee in millionths; null if delegation is impossible"
    )
    public_key = BytesField(null=True, help_text="BLS public key, 48 bytes")
    proof_of_possession = BytesField(null=True, help_text="BLS signature, 96 bytes")
    rewards_owner = BytesField(null=True, help_text="Serialised OutputOwners, without type ID")
    delegation_rewards_owner = BytesField(
        null=True, help_text="Serialised OutputOwners, without type ID"
    )
    added_height = models.BigIntegerField(
        help_text="Height of the block that contains its transaction"
    )
    joined_height = models.BigIntegerField(
        null=True, help_text="Height of the block in which it became current"
    )
    left_height = models.BigIntegerField(
        null=True, help_text="Height of the block in which it left"
    )
    left_time = models.BigIntegerField(
        null=True, help_text="Chain time when it left, in Unix seconds"
    )
    outcome = models.SmallIntegerField(choices=Outcome, null=True)

    class Meta:
        ordering = ["-position"]
        indexes = [
            models.Index(
                fields=["end_time", "priority", "tx_id"],
                name="platform_current_order",
                condition=Q(phase=2),
            ),
            models.Index(
                fields=["start_time", "priority", "tx_id"],
                name="platform_pending_order",
                condition=Q(phase=1),
            ),
            models.Index(
                fields=["subnet_id", "node_id", "phase", "weight"],
                name="platform_delegators_of_node",
                condition=Q(phase__lt=3, is_delegator=True),
            ),
            models.Index(
                fields=["subnet_id", "left_height", "joined_height"],
                name="platform_past_members",
                condition=Q(phase=3),
            ),
            models.Index(fields=["node_id", "position"], name="platform_staker_by_node"),
            # The admin's lists: latest first, by role and phase, for all, for a node, for a subnet.
            models.Index(fields=["is_delegator", "phase", "position"], name="platform_role"),
            models.Index(
                fields=["is_delegator", "node_id", "phase", "position"],
                name="platform_role_of_node",
            ),
            models.Index(
                fields=["is_delegator", "subnet_id", "phase", "position"],
                name="platform_role_of_subnet",
            ),
            models.Index(
                fields=["is_delegator", "phase", "position"], name="platform_staker_by_phase"
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["subnet_id", "node_id"],
                name="platform_one_validator_a_node",
                condition=Q(phase__lt=3, is_delegator=False),
            ),
            models.CheckConstraint(
                condition=Q(start_time__lte=models.F("end_time")), name="platform_starts_then_ends"
            ),
            models.CheckConstraint(
                condition=Q(phase=1, joined_height=None, left_height=None, outcome=None)
                | Q(phase=2, joined_height__isnull=False, left_height=None, outcome=None)
                | Q(phase=3, left_height__isnull=False, outcome__isnull=False),
                name="platform_phase_fits_heights",
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{'delegation to ' if self.is_delegator else ''}{self.node}"


class StakeOutput(models.Model):
    """An address that owns a staked output of a pending or current staker.

    An output of several owners has several rows. The rows are deleted when the staker leaves.
    """

    pk = models.CompositePrimaryKey("address", "staker_id", "output_index")
    address = ShortIDField()
    staker = models.ForeignKey(
        Staker, models.PROTECT, related_name="stake_outputs", db_constraint=False
    )
    output_index = models.IntegerField(help_text="Index in the stake outputs of its transaction")
    is_delegator = models.BooleanField()
    asset_id = IDField()
    amount = UInt64Field()
    output = BytesField(help_text="The output as serialised in transactions, with its type ID")

    @override
    def __str__(self) -> str:
        return f"stake {self.output_index} of {self.staker_id}"


class Validator(Staker):
    """A staking period of a node as a validator of a subnet."""

    class Meta:
        proxy = True
        ordering = ["-position"]
        verbose_name = "validator"


class Delegator(Staker):
    """A staking period of stake delegated to a validator."""

    class Meta:
        proxy = True
        ordering = ["-position"]
        verbose_name = "delegator"


class ValidatorUptime(models.Model):
    """The uptime of a validator of the Primary Network.

    Time after `last_updated` counts as well, if the node is connected.
    """

    staker = models.OneToOneField(
        Staker, models.PROTECT, primary_key=True, related_name="uptime", db_constraint=False
    )
    up_duration = models.BigIntegerField(help_text="Seconds online before `last_updated`")
    last_updated = models.BigIntegerField(
        help_text="Unix seconds; initially the staker's start time"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(up_duration__gte=0), name="platform_uptime_not_negative"
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"uptime of {self.staker_id}"


class SubnetUptime(models.Model):
    """The uptime of a validator of a subnet or L1 that this node tracks.

    Time after `last_updated` counts as well, if the node is connected and the validator is active.
    """

    validation_id = IDField(
        primary_key=True,
        help_text="The ID of an L1 validator, or the transaction that added a subnet's validator",
    )
    up_duration = models.BigIntegerField(help_text="Seconds online before `last_updated`")
    last_updated = models.BigIntegerField(help_text="Unix seconds")

    @override
    def __str__(self) -> str:
        return f"uptime of {self.validation_id}"


class ConnectedNode(models.Model):
    """A node that was connected at the last check, whether or not it is a validator."""

    node_id = NodeIDField(primary_key=True)
    since = models.BigIntegerField(help_text="Unix seconds by the node's clock")

    @override
    def __str__(self) -> str:
        return str(self.node_id)


class UptimeTracking(models.Model):
    """Single row: when tracking of uptimes began. It is missing before the first peer connects."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    began_at = models.BigIntegerField(
        help_text="Time at which the first peer connected, in Unix seconds"
    )
    settled_at = models.BigIntegerField(
        null=True, help_text="Time at which all uptimes were last written, in Unix seconds"
    )

    class Meta:
        verbose_name_plural = "uptime tracking"
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="platform_one_tracking"),
        ]

    @override
    def __str__(self) -> str:
        return f"since {self.began_at}"


class Subnet(models.Model):
    """A subnet; the Primary Network has no row."""

    subnet_id = IDField(primary_key=True, help_text="ID of the transaction that created it")
    position = models.BigIntegerField(unique=True, help_text="Primary key of the transaction's row")
    locktime = UInt64Field(help_text="Unix seconds before which the owners cannot sign; 0: no lock")
    threshold = models.BigIntegerField(help_text="Number of control keys that must sign")
    owner = BytesField(help_text="Serialised OutputOwners, without type ID")

    class Meta:
        ordering = ["position"]

    @override
    def __str__(self) -> str:
        return str(self.subnet_id)


class SubnetOwner(models.Model):
    """A control key of a subnet."""

    pk = models.CompositePrimaryKey("address", "subnet_id")
    address = ShortIDField()
    subnet = models.ForeignKey(
        Subnet, models.PROTECT, related_name="control_keys", db_constraint=False
    )

    @override
    def __str__(self) -> str:
        return f"{self.address} of {self.subnet_id}"


class Blockchain(models.Model):
    """A blockchain; the P-Chain itself has no row."""

    blockchain_id = IDField(primary_key=True, help_text="ID of the transaction that created it")
    position = models.BigIntegerField(unique=True, help_text="Primary key of the transaction's row")
    subnet_id = IDField(
        help_text="ID of the subnet that validates it; all zeros: the Primary Network"
    )
    name = models.CharField(max_length=128)
    vm_id = IDField()
    fx_ids = BytesField(help_text="IDs of the feature extensions, 32 bytes each")
    genesis_size = models.IntegerField(
        help_text="Size of the genesis in bytes; the transaction contains the genesis"
    )

    class Meta:
        ordering = ["position"]
        indexes = [models.Index(fields=["subnet_id", "position"], name="platform_chains_of_subnet")]

    @override
    def __str__(self) -> str:
        return self.name
