"""From which block on a chain has history: what is before was given up by setting."""

from django.db import models
from django.db.models import Q
from typing_extensions import override


class KeptHistory(models.Model):
    """The one row says what of the history is there; without it all is."""

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
