"""The health history, and a row for testing whether the database accepts writes."""

from django.db import models
from typing_extensions import override


class HealthChange(models.Model):
    """A change in the result of a check: it started to fail, failed for other reasons, or passed again."""

    name = models.CharField(max_length=64, verbose_name="check")
    healthy = models.BooleanField()
    error = models.TextField(help_text="Why the check failed; empty if it passed")
    message = models.JSONField(null=True, help_text="Measurements of this run")
    at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]
        verbose_name = "health change"
        indexes = [
            models.Index(fields=["name", "id"], name="health_change_of_check"),
            models.Index(
                fields=["id"], condition=models.Q(healthy=False), name="health_change_failures"
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.name} {'passes' if self.healthy else 'fails'}"


class WriteProbe(models.Model):
    """The single row that is written to test whether the database accepts writes."""

    id = models.SmallIntegerField(primary_key=True)
    at = models.DateTimeField()

    @override
    def __str__(self) -> str:
        return f"written at {self.at}"
