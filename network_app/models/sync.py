"""How far each chain is in reaching the network's frontier."""

from django.db import models
from typing_extensions import override


class SyncPhase(models.TextChoices):
    """The specification's states of a chain (section 3)."""

    BOOTSTRAPPING = "bootstrapping"
    BOOTSTRAPPED = "bootstrapped"


class ChainSync(models.Model):
    """One row is a chain's way to the frontier since this node's last start."""

    chain = models.CharField(max_length=1, primary_key=True, help_text="P or C")
    phase = models.CharField(max_length=16, choices=SyncPhase)
    start_height = models.BigIntegerField(help_text="Where this run began")
    height = models.BigIntegerField()
    target_height = models.BigIntegerField(help_text="The frontier, as far as it is known")
    fetched = models.BigIntegerField(help_text="Blocks that are stored and wait to be executed")
    outstanding = models.IntegerField(help_text="Blocks received and not decided yet")
    oldest_outstanding_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    updated_at = models.DateTimeField()
    measured_height = models.BigIntegerField(help_text="At the last measurement of the rate")
    measured_at = models.DateTimeField()
    blocks_per_second = models.FloatField(null=True)
    seconds_left = models.FloatField(null=True, help_text="At that rate")

    class Meta:
        ordering = ["-chain"]
        verbose_name = verbose_name_plural = "bootstrap"

    @override
    def __str__(self) -> str:
        return f"{self.chain}-Chain: {self.phase}"

    @property
    def percent(self) -> float:
        """How much of the way is done, 0 to 100."""
        way = self.target_height - self.start_height
        if self.phase == SyncPhase.BOOTSTRAPPED or way <= 0:
            return 100.0 if self.phase == SyncPhase.BOOTSTRAPPED else 0.0
        return min(100.0, 100.0 * (self.height - self.start_height) / way)
