"""Blocks as peers exchange them: the proposer's outer block around a chain's own block (p2p.md 11)."""

from django.db import models
from typing_extensions import override

from chaindb.chains import NAME_LENGTH
from chaindb.fields import BytesField, IDField, NodeIDField


class Certificate(models.Model):
    """The staking certificate of a node that proposed blocks."""

    node_id = NodeIDField(primary_key=True, help_text="The hash of the certificate")
    node = models.CharField(max_length=64, help_text="The node ID as text, for those who query")
    der = BytesField(help_text="The certificate")

    @override
    def __str__(self) -> str:
        return str(self.node_id)


class OuterBlock(models.Model):
    """The outer block of an accepted block, without the inner block, which is in the chain's own table.

    The row is written in the transaction that accepts the inner block. Genesis has none.
    """

    id = models.BigAutoField(primary_key=True)
    chain = models.CharField(max_length=NAME_LENGTH, help_text="The chain's name, such as P or C")
    height = models.BigIntegerField()
    block_id = IDField(unique=True, help_text="By which peers know the block")
    kind = models.SmallIntegerField(help_text="0 signed or unsigned, 1 option, 2 with an epoch")
    time = models.BigIntegerField(null=True, help_text="Unix seconds; options have none")
    p_chain_height = models.BigIntegerField(
        null=True, help_text="Of the validators that its child's proposer is drawn from"
    )
    epoch_height = models.BigIntegerField(null=True)
    epoch_number = models.BigIntegerField(null=True)
    epoch_start = models.BigIntegerField(null=True, help_text="Unix seconds")
    proposer = models.ForeignKey(
        Certificate,
        models.PROTECT,
        null=True,
        db_index=False,  # the composite index below starts with this field
        related_name="blocks",
        help_text="Who signed it",
    )
    signature = BytesField()

    class Meta:
        ordering = ["-id"]
        indexes = [
            # Blocks of a proposer, latest first, as the admin lists them.
            models.Index(fields=["proposer", "chain", "id"], name="network_outer_of_proposer"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["chain", "height"], name="network_outer_at_height"),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.chain} {self.height}"


class FetchedBlock(models.Model):
    """A block that was fetched while bootstrapping and waits to be executed."""

    id = models.BigAutoField(primary_key=True)
    chain = models.CharField(max_length=NAME_LENGTH, help_text="The chain's name, such as P or C")
    height = models.BigIntegerField()
    block_id = IDField()
    parent_id = IDField()
    raw = BytesField(help_text="The outer block's bytes")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chain", "height"], name="network_fetched_at_height"),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.chain} {self.height}"
