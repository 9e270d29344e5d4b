"""Tables of the network: peers, reports of the network's process, sync progress, blocks, decisions."""

from django.db import models
from typing_extensions import override

from adminkit.formats import with_unit
from chaindb.chains import NAME_LENGTH
from chaindb.fields import BytesField, IDField, NodeIDField
from network_app.ports import Gathering
from network_app.sync.witnesses import needed_of


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
    observed_uptime = models.SmallIntegerField(
        help_text="Uptime of this node, in percent, as the peer reports it"
    )
    tracked_subnets = models.JSONField(default=list)
    supported_acps = models.JSONField(default=list)
    objected_acps = models.JSONField(default=list)
    benched = models.JSONField(default=list, help_text="Chains on which it is not asked")
    pardoned_at = models.DateTimeField(
        null=True,
        help_text="When an operator requested that the network process query it again",
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


class Certificate(models.Model):
    """The staking certificate of a node that proposed blocks."""

    node_id = NodeIDField(primary_key=True, help_text="The hash of the certificate")
    node = models.CharField(max_length=64, help_text="The node ID as text, for those who query")
    der = BytesField(help_text="The certificate")

    @override
    def __str__(self) -> str:
        return str(self.node_id)


class OuterBlock(models.Model):
    """The outer block of an accepted block, without the inner block, which is in the chain's own table.

    The row is written in the transaction that accepts the inner block. Genesis has none.
    """

    id = models.BigAutoField(primary_key=True)
    chain = models.CharField(max_length=NAME_LENGTH, help_text="The chain's name, such as P or C")
    height = models.BigIntegerField()
    block_id = IDField(unique=True, help_text="By which peers know the block")
    kind = models.SmallIntegerField(help_text="0 signed or unsigned, 1 option, 2 with an epoch")
    time = models.BigIntegerField(null=True, help_text="Unix seconds; options have none")
    p_chain_height = models.BigIntegerField(
        null=True, help_text="Of the validators that its child's proposer is drawn from"
    )
    epoch_height = models.BigIntegerField(null=True)
    epoch_number = models.BigIntegerField(null=True)
    epoch_start = models.BigIntegerField(null=True, help_text="Unix seconds")
    proposer = models.ForeignKey(
        Certificate,
        models.PROTECT,
        null=True,
        db_index=False,  # the composite index below starts with this field
        related_name="blocks",
        help_text="Who signed it",
    )
    signature = BytesField()

    class Meta:
        ordering = ["-id"]
        indexes = [
            # Blocks of a proposer, latest first, as the admin lists them.
            models.Index(fields=["proposer", "chain", "id"], name="network_outer_of_proposer"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["chain", "height"], name="network_outer_at_height"),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.chain} {self.height}"


class FetchedBlock(models.Model):
    """A block that was fetched while bootstrapping and waits to be executed."""

    id = models.BigAutoField(primary_key=True)
    chain = models.CharField(max_length=NAME_LENGTH, help_text="The chain's name, such as P or C")
    height = models.BigIntegerField()
    block_id = IDField()
    parent_id = IDField()
    raw = BytesField(help_text="The outer block's bytes")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chain", "height"], name="network_fetched_at_height"),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.chain} {self.height}"


class ChainConsensus(models.Model):
    """The state of the consensus on a chain, as reported by the network's process about once a second."""

    chain = models.CharField(
        max_length=NAME_LENGTH, primary_key=True, help_text="The chain's name, such as P or C"
    )
    report = models.JSONField(help_text="As network_app/consensus/messages.py writes it")
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ["-chain"]
        verbose_name = verbose_name_plural = "consensus"

    @override
    def __str__(self) -> str:
        return f"{self.chain}-Chain"


class BlockDecision(models.Model):
    """A block that this node has seen accepted or rejected by votes; only the latest are kept."""

    chain = models.CharField(max_length=NAME_LENGTH, help_text="The chain's name, such as P or C")
    height = models.BigIntegerField()
    block_id = IDField(help_text="By which peers know the block")
    parent_id = IDField()
    # Stored as text, because the proposers of rejected blocks may have no row in the certificates.
    proposer = models.CharField(  # noqa: DJ001  null means no proposer, as in the other tables
        max_length=64, null=True, help_text="The node ID, as text, of who signed it"
    )
    accepted = models.BooleanField(help_text="Or rejected, for another block")
    issued_at = models.DateTimeField(help_text="When it was verified and its votes were asked for")
    decided_at = models.DateTimeField()
    polls = models.IntegerField(help_text="That ended between the two")
    rejected = models.IntegerField(help_text="Blocks that were rejected for it")

    class Meta:
        ordering = ["-id"]
        verbose_name = "decision"
        indexes = [
            models.Index(fields=["chain", "id"], name="network_decision_of_chain"),
            models.Index(fields=["height", "id"], name="network_decision_at"),
            models.Index(fields=["block_id", "id"], name="network_decision_on"),
            models.Index(fields=["proposer", "id"], name="network_decision_for"),
            # There are few rejected blocks.
            models.Index(
                fields=["id"],
                name="network_decision_against",
                condition=models.Q(accepted=False),
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.chain} {self.height}"
