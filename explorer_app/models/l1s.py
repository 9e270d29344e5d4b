"""L1s that this node creates on a local network, and how far it is with each of them."""

from django.db import models
from typing_extensions import override

from chaindb.fields import IDField


class L1Request(models.Model):
    """An L1 that a user wants, by the name of its chain."""

    UNFINISHED = "unfinished"
    FAILED = "failed"
    DONE = "done"

    name = models.CharField(
        max_length=128, primary_key=True, help_text="Name of the chain, unique among these rows"
    )
    terms = models.TextField(help_text="The requested terms, as JSON")
    genesis = models.TextField(help_text="The chain's genesis file")
    subnet_id = IDField(null=True)
    blockchain_id = IDField(null=True)
    validation_id = IDField(null=True, help_text="Of the validator that the manager registers")
    state = models.CharField(
        max_length=16,
        choices=[(UNFINISHED, "not finished"), (FAILED, "failed"), (DONE, "done")],
    )
    step = models.TextField(help_text="The step that was begun last; empty when all are done")
    error = models.TextField(help_text="Why the step failed")
    began_at = models.DateTimeField()

    class Meta:
        ordering = ["-began_at"]
        verbose_name = "requested L1"

    @override
    def __str__(self) -> str:
        return self.name
