"""L1s: conversions of subnets, validators with their weights over time, and used registration messages (etna.md 4)."""

from django.db import models
from django.db.models import Q
from typing_extensions import override

from chaindb.fields import BytesField, IDField, NodeIDField, UInt64Field


class L1Conversion(models.Model):
    """The conversion of a subnet to an L1; it never changes."""

    subnet_id = IDField(primary_key=True)
    conversion_id = IDField(help_text="SHA-256 of the manager and the first validators")
    manager_chain_id = IDField(help_text="The chain with the contract that manages the validators")
    manager_address = BytesField(help_text="The contract's address on that chain")
    height = models.BigIntegerField(help_text="Height of the block with the conversion")

    class Meta:
        ordering = ["-height"]
        verbose_name = "L1"

    @override
    def __str__(self) -> str:
        return str(self.subnet_id)


class L1Validator(models.Model):
    """A validation of an L1 by a node, active, inactive or removed."""

    validation_id = IDField(primary_key=True)
    subnet_id = IDField()
    node_id = NodeIDField()
    node = models.CharField(max_length=64, help_text="The node ID as text, for SQL queries")
    public_key = BytesField(help_text="BLS public key, 48 bytes")
    remaining_balance_owner = BytesField(help_text="Serialised PChainOwner")
    deactivation_owner = BytesField(help_text="Serialised PChainOwner")
    start_time = models.BigIntegerField(help_text="Unix seconds")
    weight = UInt64Field(help_text="0: removed")
    min_nonce = UInt64Field(help_text="Least nonce of the next message that sets the weight")
    end_accumulated_fee = UInt64Field(
        help_text="The chain's accrued fees at which the balance is used up; 0: inactive"
    )
    is_active = models.BooleanField(help_text="Whether it pays and signs")
    added_height = models.BigIntegerField(help_text="Height of the block that added it")
    removed_height = models.BigIntegerField(
        null=True, help_text="Height of the block that removed it"
    )

    class Meta:
        ordering = ["subnet_id", "node_id"]
        verbose_name = "L1 validator"
        indexes = [
            models.Index(
                fields=["end_accumulated_fee", "validation_id"],
                name="platform_l1_active_order",
                condition=Q(is_active=True),
            ),
            # The admin's lists: the latest first, of all, of an L1, of a node.
            models.Index(fields=["added_height", "validation_id"], name="platform_l1_latest"),
            models.Index(fields=["subnet_id", "added_height"], name="platform_l1_of_subnet"),
            models.Index(fields=["node_id", "added_height"], name="platform_l1_of_node"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["subnet_id", "node_id"],
                name="platform_l1_one_a_node",
                condition=Q(removed_height=None),
            ),
        ]

    @override
    def __str__(self) -> str:
        return self.node


class L1Weight(models.Model):
    """The weight of an L1 validator from one height to another, for validator sets at any height."""

    pk = models.CompositePrimaryKey("validation_id", "from_height")
    validation_id = IDField()
    from_height = models.BigIntegerField(help_text="First height with this weight")
    until_height = models.BigIntegerField(
        null=True, help_text="First height with another weight; null: it is the current one"
    )
    subnet_id = IDField()
    node_id = NodeIDField(help_text="All zeros while the validator is inactive")
    public_key = BytesField(null=True, help_text="BLS public key; null while it is inactive")
    weight = UInt64Field()

    class Meta:
        indexes = [
            models.Index(
                fields=["subnet_id", "until_height", "from_height"], name="platform_l1_members"
            )
        ]

    @override
    def __str__(self) -> str:
        return f"{self.weight} of {self.validation_id} from #{self.from_height}"


class L1Expiry(models.Model):
    """A used registration message, which is remembered until it expires."""

    pk = models.CompositePrimaryKey("time", "validation_id")
    time = models.BigIntegerField(help_text="When the message expires, in Unix seconds")
    validation_id = IDField()

    class Meta:
        verbose_name_plural = "L1 expiries"

    @override
    def __str__(self) -> str:
        return f"{self.validation_id} until {self.time}"
