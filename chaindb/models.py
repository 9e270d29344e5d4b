"""Rows that belong to no chain: the node's clock, the rewind counter, the last backup, and the program's versions."""

from typing import ClassVar

from django.db import models
from typing_extensions import override


class Clock(models.Model):
    """The offset of the node's clock, in a single row. Without the row the clock shows wall time."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    offset = models.BigIntegerField(
        help_text="Seconds by which the node's clock is ahead of wall time; negative if it is behind"
    )
    behind = models.BigIntegerField(
        db_default=0,
        help_text="Seconds by which the C-Chain's time is behind the node's clock, after a rewind of the C-Chain alone",
    )

    class Meta:
        verbose_name_plural = "clock"
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(id=1), name="chaindb_one_clock"),
        ]

    @override
    def __str__(self) -> str:
        behind = self.offset < 0
        return f"{abs(self.offset)} s {'behind' if behind else 'ahead of'} wall time"


class ProgramVersion(models.Model):
    """A version of the program that has run on this database."""

    version = models.TextField(unique=True)
    first_run_at = models.DateTimeField(help_text="When it ran for the first time")

    @override
    def __str__(self) -> str:
        return f"{self.version}, since {self.first_run_at:%Y-%m-%d}"


class Generation(models.Model):
    """The number of rewinds of this database, in a single row. Without the row the number is 0.

    The counter itself is never rewound.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    number = models.BigIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(id=1), name="chaindb_one_generation"),
        ]

    @override
    def __str__(self) -> str:
        return f"generation {self.number}"


class LastBackup(models.Model):
    """The single row describes the last complete backup of this database; without it there was none."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    finished_at = models.DateTimeField(help_text="When the file was complete on its disk")
    size = models.BigIntegerField(help_text="Size of the file in bytes")
    seconds = models.FloatField(help_text="Time that the backup took")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(id=1), name="chaindb_one_last_backup"),
        ]

    @override
    def __str__(self) -> str:
        return f"backup of {self.finished_at:%Y-%m-%d %H:%M:%S}"
