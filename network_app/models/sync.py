"""Progress of each chain towards the network's frontier."""

from django.db import models
from typing_extensions import override

from adminkit.formats import with_unit
from chaindb.chains import NAME_LENGTH
from network_app.ports import Gathering
from network_app.sync.witnesses import needed_of


class SyncPhase(models.TextChoices):
    """The specification's states of a chain (section 3)."""

    BOOTSTRAPPING = "bootstrapping"
    BOOTSTRAPPED = "bootstrapped"


class ChainSync(models.Model):
    """A chain's progress towards the frontier since this node's last start."""

    chain = models.CharField(
        max_length=NAME_LENGTH, primary_key=True, help_text="The chain's name, such as P or C"
    )
    phase = models.CharField(max_length=16, choices=SyncPhase)
    start_height = models.BigIntegerField(help_text="Where this run began")
    height = models.BigIntegerField()
    target_height = models.BigIntegerField(help_text="The frontier, as far as it is known")
    fetched = models.BigIntegerField(help_text="Blocks that are stored and wait to be executed")
    beacons = models.IntegerField(
        null=True, help_text="Bootstrappers, as long as it waits for more of them"
    )
    beacons_connected = models.IntegerField(null=True, help_text="Those of them that are connected")
    # Nullable, so that SQLite can add the column without copying the table.
    obstacle = models.TextField(  # noqa: DJ001
        null=True,
        help_text="What keeps it from going on where the network has gone on",
    )
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
    def waiting(self) -> Gathering | None:
        """The bootstrappers that the chain waits for before it starts; None if it does not wait."""
        if self.beacons is None or self.beacons_connected is None:
            return None
        return Gathering(self.beacons_connected, needed_of(self.beacons), self.beacons)

    @property
    def percent(self) -> int:
        """Progress of this run in percent, rounded down: less than 100 until it is complete."""
        if self.phase == SyncPhase.BOOTSTRAPPED:
            return 100
        way = self.target_height - self.start_height
        return min(99, 100 * (self.height - self.start_height) // way) if way > 0 else 0

    @property
    def place(self) -> str:
        """Progress as text that matches `percent`: both count from the start of this run."""
        way = self.target_height - self.start_height
        if self.phase == SyncPhase.BOOTSTRAPPED or way <= 0:
            return f"at height {self.height:,}"
        done = self.height - self.start_height
        words = f"{done:,} of {with_unit(f'{way:,}', 'blocks')}"
        return f"{words} since height {self.start_height:,}" if self.start_height else words
