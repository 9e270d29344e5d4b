"""The first block for which the chain still has history; older history was removed according to the settings."""

from django.db import models
from django.db.models import Q
from typing_extensions import override


class KeptHistory(models.Model):
    """The extent of the history that was kept; a single row. Without it the history is complete."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    first_state = models.BigIntegerField(
        default=0, help_text="The first block whose state can be read (NODE_HISTORY_STATE)"
    )
    first_call = models.BigIntegerField(
        default=0, help_text="The first block whose calls are rows (NODE_HISTORY_CALLS)"
    )

    class Meta:
        verbose_name_plural = "kept history"
        constraints = [models.CheckConstraint(condition=Q(id=1), name="cchain_one_kept_history")]

    @override
    def __str__(self) -> str:
        return f"states from #{self.first_state}, calls from #{self.first_call}"
