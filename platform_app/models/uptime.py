"""Connected nodes, and the uptimes of validators (pchain.md 7.5)."""

from django.db import models
from django.db.models import Q
from typing_extensions import override

from chaindb.fields import NodeIDField
from platform_app.models.staking import Staker


class ValidatorUptime(models.Model):
    """The uptime of a validator of the Primary Network.

    Time after `last_updated` counts as well, if the node is connected.
    """

    staker = models.OneToOneField(
        Staker, models.PROTECT, primary_key=True, related_name="uptime", db_constraint=False
    )
    up_duration = models.BigIntegerField(help_text="Seconds online before `last_updated`")
    last_updated = models.BigIntegerField(help_text="Unix seconds; at first the staker's start")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(up_duration__gte=0), name="platform_uptime_not_negative"
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"uptime of {self.staker_id}"


class ConnectedNode(models.Model):
    """A node that was connected at the last check, whether or not it is a validator."""

    node_id = NodeIDField(primary_key=True)
    since = models.BigIntegerField(help_text="Unix seconds by the node's clock")

    @override
    def __str__(self) -> str:
        return str(self.node_id)


class UptimeTracking(models.Model):
    """Single row: when tracking of uptimes began. It is missing before the first peer connects."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    began_at = models.BigIntegerField(help_text="Unix seconds: the first peer's coming")
    settled_at = models.BigIntegerField(
        null=True, help_text="Unix seconds: when all uptimes were written last"
    )

    class Meta:
        verbose_name_plural = "uptime tracking"
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="platform_one_tracking"),
        ]

    @override
    def __str__(self) -> str:
        return f"since {self.began_at}"
