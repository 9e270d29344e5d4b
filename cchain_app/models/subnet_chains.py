"""The blockchains of subnets, and how this node runs them. The rows are in the node's own database."""

from django.db import models
from typing_extensions import override

from chaindb.fields import IDField, UInt64Field


class SubnetChain(models.Model):
    """A blockchain of a subnet, and whether this node runs it."""

    RUNNING = "running"
    REFUSED = "refused"
    UNTRACKED = "untracked"
    DELETED = "deleted"

    blockchain_id = IDField(primary_key=True)
    blockchain = models.CharField(
        max_length=64, help_text="The blockchain ID as text, for SQL queries"
    )
    subnet_id = IDField()
    name = models.CharField(max_length=128, help_text="The name in its CreateChainTx")
    vm_id = IDField()
    rules = models.CharField(
        max_length=32, help_text="The rules of its blocks; empty if this node has none for it"
    )
    database = models.CharField(
        max_length=64, help_text="Alias of the database with its rows; empty if it has none"
    )
    chain_id = UInt64Field(null=True, help_text="EVM chain ID, if its genesis was read")
    state = models.CharField(
        max_length=16,
        choices=[
            (RUNNING, "running"),
            (REFUSED, "does not run"),
            (UNTRACKED, "not tracked"),
            (DELETED, "deleted"),
        ],
    )
    reason = models.TextField(
        help_text="Why it does not run, or why no block can follow its last one; empty otherwise"
    )

    class Meta:
        ordering = ["name"]
        verbose_name = "chain of a subnet"
        verbose_name_plural = "chains of subnets"

    @override
    def __str__(self) -> str:
        return self.name
