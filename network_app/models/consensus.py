"""State of the validators' consensus on each chain, and its latest decisions."""

from django.db import models
from typing_extensions import override

from chaindb.chains import NAME_LENGTH
from chaindb.fields import IDField


class ChainConsensus(models.Model):
    """The state of the consensus on a chain, as reported by the network's process about once a second."""

    chain = models.CharField(
        max_length=NAME_LENGTH, primary_key=True, help_text="The chain's name, such as P or C"
    )
    report = models.JSONField(help_text="As network_app/consensus/messages.py writes it")
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ["-chain"]
        verbose_name = verbose_name_plural = "consensus"

    @override
    def __str__(self) -> str:
        return f"{self.chain}-Chain"


class BlockDecision(models.Model):
    """A block that this node has seen accepted or rejected by votes; only the latest are kept."""

    chain = models.CharField(max_length=NAME_LENGTH, help_text="The chain's name, such as P or C")
    height = models.BigIntegerField()
    block_id = IDField(help_text="By which peers know the block")
    parent_id = IDField()
    # Stored as text, because the proposers of rejected blocks may have no row in the certificates.
    proposer = models.CharField(  # noqa: DJ001  null means no proposer, as in the other tables
        max_length=64, null=True, help_text="The node ID, as text, of who signed it"
    )
    accepted = models.BooleanField(help_text="Or rejected, for another block")
    issued_at = models.DateTimeField(help_text="When it was verified and its votes were asked for")
    decided_at = models.DateTimeField()
    polls = models.IntegerField(help_text="That ended between the two")
    rejected = models.IntegerField(help_text="Blocks that were rejected for it")

    class Meta:
        ordering = ["-id"]
        verbose_name = "decision"
        indexes = [
            models.Index(fields=["chain", "id"], name="network_decision_of_chain"),
            models.Index(fields=["height", "id"], name="network_decision_at"),
            models.Index(fields=["block_id", "id"], name="network_decision_on"),
            models.Index(fields=["proposer", "id"], name="network_decision_for"),
            # There are few rejected blocks.
            models.Index(
                fields=["id"],
                name="network_decision_against",
                condition=models.Q(accepted=False),
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.chain} {self.height}"
