"""Peers, and the status reports of the process that runs the network."""

from django.db import models
from typing_extensions import override

from chaindb.fields import NodeIDField


class Peer(models.Model):
    """A node that has been connected at least once, and the latest facts known about it."""

    node_id = NodeIDField(primary_key=True)
    node = models.CharField(max_length=64, help_text="The node ID as text, for those who query")
    ip = models.CharField(max_length=64, help_text="host:port of the connection")
    public_ip = models.CharField(max_length=64, help_text="host:port that it signed")
    version = models.CharField(max_length=64)
    upgrade_time = models.BigIntegerField(help_text="Unix seconds of its latest upgrade")
    outbound = models.BooleanField(help_text="Whether we dialled")
    connected_since = models.DateTimeField(null=True, help_text="Null: it is not connected")
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField(help_text="When it was connected last")
    last_sent = models.DateTimeField()
    last_received = models.DateTimeField()
    observed_uptime = models.SmallIntegerField(help_text="Percent: what it says of our uptime")
    tracked_subnets = models.JSONField(default=list)
    supported_acps = models.JSONField(default=list)
    objected_acps = models.JSONField(default=list)
    benched = models.JSONField(default=list, help_text="Chains on which it is not asked")
    pardoned_at = models.DateTimeField(
        null=True,
        help_text="When an operator wished that it be asked again; the network's process does so",
    )
    times_connected = models.BigIntegerField(default=1)

    class Meta:
        ordering = ["-last_seen"]
        indexes = [
            # Few peers are connected, while the rows of earlier peers are kept.
            models.Index(
                fields=["node_id"],
                name="network_peer_connected",
                condition=models.Q(connected_since__isnull=False),
            ),
            models.Index(
                fields=["node_id"],
                name="network_peer_gone",
                condition=models.Q(connected_since__isnull=True),
            ),
        ]

    @override
    def __str__(self) -> str:
        return str(self.node_id)


class NetworkStatus(models.Model):
    """The single row with the status of the network's process, written once a second."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()
    ip = models.CharField(max_length=64, help_text="host:port that this node advertises")
    connected = models.IntegerField()
    known = models.IntegerField(help_text="Validators and bootstrappers whose address is kept")
    messages_sent = models.BigIntegerField()
    messages_received = models.BigIntegerField()
    bytes_sent = models.BigIntegerField()
    bytes_received = models.BigIntegerField()
    send_failures = models.BigIntegerField()
    send_fail_rate = models.FloatField()
    last_sent_at = models.DateTimeField(null=True)
    last_received_at = models.DateTimeField(null=True)
    times_connected = models.BigIntegerField()
    times_disconnected = models.BigIntegerField()
    dial_failures = models.JSONField(
        default=list, help_text="Why bootstrappers are not connected: `ports.DialFailure`"
    )

    class Meta:
        verbose_name_plural = "network status"
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="network_one_status"),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.connected} peers"
