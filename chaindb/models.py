"""The rows that belong to no chain: how far the node's clock is ahead, and how often its rows went back."""

from typing import ClassVar

from django.db import models
from typing_extensions import override


class Clock(models.Model):
    """The one row is the node's clock, once it has been moved; without it the clock is wall time."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    offset = models.BigIntegerField(help_text="Seconds ahead of wall time; below zero: behind it")
    behind = models.BigIntegerField(
        db_default=0,
        help_text="Seconds by which the C-Chain's time is before it: it has gone back, and the P-Chain has not",
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


class Generation(models.Model):
    """The one row counts how often the rows of this database were replaced by earlier ones; without it never.

    It never goes back itself.
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
