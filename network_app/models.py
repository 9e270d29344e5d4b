"""Tables of the network: peers, reports of the network process, sync progress, blocks, decisions."""

from django.db import models
from typing_extensions import override

from chaindb.chains import NAME_LENGTH
from chaindb.fields import BytesField, IDField, NodeIDField
from network_app.ports import Gathering
from primitives.counting import counted
from primitives.networks import title


class Peer(models.Model):
    """A node that has been connected at least once, and the latest facts known about it."""

    node_id = NodeIDField(primary_key=True)
    node = models.CharField(max_length=64, help_text="The node ID as text, for SQL queries")
    ip = models.CharField(max_length=64, help_text="host:port of the connection")
    public_ip = models.CharField(max_length=64, help_text="host:port of the peer's signed address")
    version = models.CharField(max_length=64)
    upgrade_time = models.BigIntegerField(
        help_text="Unix seconds at which the peer's latest network upgrade takes effect"
    )
    outbound = models.BooleanField(help_text="Whether this node opened the connection")
    connected_since = models.DateTimeField(
        null=True, help_text="Null while the peer is not connected"
    )
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField(help_text="Latest time at which the peer was connected")
    last_sent = models.DateTimeField()
    last_received = models.DateTimeField()
    observed_uptime = models.SmallIntegerField(
        help_text="Uptime of this node, in percent, as the peer reports it"
    )
    tracked_subnets = models.JSONField(default=list)
    supported_acps = models.JSONField(default=list)
    objected_acps = models.JSONField(default=list)
    benched = models.JSONField(
        default=list, help_text="Chains on which this node sends the peer no queries"
    )
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
    """The single row with the status of the network process, written once a second."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()
    ip = models.CharField(max_length=64, help_text="host:port that this node advertises")
    connected = models.IntegerField()
    known = models.IntegerField(
        help_text="Validators and bootstrappers whose signed address is known"
    )
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
        default=list,
        help_text="Reason for each bootstrapper that is not connected (`ports.DialFailure`)",
    )

    class Meta:
        verbose_name_plural = "network status"
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="network_one_status"),
        ]

    @override
    def __str__(self) -> str:
        return counted(self.connected, "peer")


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
    start_height = models.BigIntegerField(
        help_text="Height of the last accepted block when this run started"
    )
    height = models.BigIntegerField()
    target_height = models.BigIntegerField(
        help_text="Greatest height that peers have accepted, as far as known"
    )
    fetched = models.BigIntegerField(
        help_text="Number of blocks that are stored and not executed yet"
    )
    beacons = models.IntegerField(
        null=True,
        help_text="Number of bootstrappers; null unless the chain waits for connections to them",
    )
    beacons_connected = models.IntegerField(
        null=True, help_text="Number of connected bootstrappers; null likewise"
    )
    # Nullable, so that SQLite can add the column without copying the table.
    obstacle = models.TextField(  # noqa: DJ001
        null=True,
        help_text="Why this chain cannot accept blocks that the network has accepted",
    )
    outstanding = models.IntegerField(
        help_text="Number of received blocks that are not decided yet"
    )
    oldest_outstanding_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    updated_at = models.DateTimeField()
    measured_height = models.BigIntegerField(help_text="Height at the last measurement of the rate")
    measured_at = models.DateTimeField()
    blocks_per_second = models.FloatField(null=True)
    seconds_left = models.FloatField(
        null=True, help_text="Seconds until the target height at that rate"
    )

    class Meta:
        ordering = ["-chain"]
        verbose_name = verbose_name_plural = "bootstrap"

    @override
    def __str__(self) -> str:
        return f"{title(self.chain)}: {self.phase}"

    @property
    def waiting(self) -> Gathering | None:
        """The bootstrappers that the chain waits for before it starts; None if it does not wait."""
        if self.beacons is None or self.beacons_connected is None:
            return None
        from network_app.sync.witnesses import needed_of  # not every process has peers

        return Gathering(self.beacons_connected, needed_of(self.beacons), self.beacons)

    @property
    def percent(self) -> int:
        """Progress of this run in percent, rounded down: less than 100 until it is complete."""
        if self.phase == SyncPhase.BOOTSTRAPPED:
            return 100
        total = self.target_height - self.start_height
        return min(99, 100 * (self.height - self.start_height) // total) if total > 0 else 0

    @property
    def progress_text(self) -> str:
        """Progress as text that matches `percent`: both count from the start of this run."""
        total = self.target_height - self.start_height
        if self.phase == SyncPhase.BOOTSTRAPPED or total <= 0:
            return f"at height {self.height:,}"
        done = self.height - self.start_height
        words = f"{done:,} of {counted(total, 'block')}"
        return f"{words} since height {self.start_height:,}" if self.start_height else words


class Certificate(models.Model):
    """The staking certificate of a node that proposed blocks."""

    node_id = NodeIDField(primary_key=True, help_text="Node ID: hash of the certificate")
    node = models.CharField(max_length=64, help_text="The node ID as text, for SQL queries")
    der = BytesField(help_text="The certificate in DER form")

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
    block_id = IDField(unique=True, help_text="ID of the outer block, by which peers refer to it")
    kind = models.SmallIntegerField(
        help_text="0: signed or unsigned block, 1: option of a proposal, 2: block with an epoch"
    )
    time = models.BigIntegerField(
        null=True, help_text="Timestamp in Unix seconds; null for options"
    )
    p_chain_height = models.BigIntegerField(
        null=True, help_text="P-Chain height whose validators are sampled for the child's proposer"
    )
    epoch_height = models.BigIntegerField(null=True)
    epoch_number = models.BigIntegerField(null=True)
    epoch_start = models.BigIntegerField(null=True, help_text="Start of the epoch in Unix seconds")
    proposer = models.ForeignKey(
        Certificate,
        models.PROTECT,
        null=True,
        db_index=False,  # the composite index below starts with this field
        related_name="blocks",
        help_text="The validator that signed the block",
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
    """A block that was fetched during bootstrapping and is not executed yet."""

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
    """The state of the consensus on a chain, as reported by the network process about once a second."""

    chain = models.CharField(
        max_length=NAME_LENGTH, primary_key=True, help_text="The chain's name, such as P or C"
    )
    report = models.JSONField(help_text="JSON that network_app/consensus/messages.py encodes")
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ["-chain"]
        verbose_name = verbose_name_plural = "consensus"

    @override
    def __str__(self) -> str:
        return title(self.chain)


class BlockDecision(models.Model):
    """A block that this node has seen accepted or rejected by votes; only the latest are kept."""

    chain = models.CharField(max_length=NAME_LENGTH, help_text="The chain's name, such as P or C")
    height = models.BigIntegerField()
    block_id = IDField(help_text="ID of the outer block, by which peers refer to it")
    parent_id = IDField()
    # Stored as text, because the proposers of rejected blocks may have no row in the certificates.
    proposer = models.CharField(  # noqa: DJ001  null means no proposer, as in the other tables
        max_length=64,
        null=True,
        help_text="Node ID of the validator that signed the block, as text",
    )
    accepted = models.BooleanField(
        help_text="Whether the block was accepted; otherwise rejected in favour of another block"
    )
    issued_at = models.DateTimeField(
        help_text="When the block was verified and the first poll for it was sent"
    )
    decided_at = models.DateTimeField()
    polls = models.IntegerField(
        help_text="Number of polls that finished between issue and decision"
    )
    rejected = models.IntegerField(
        help_text="Number of blocks rejected because this one was accepted"
    )

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


class SignatureQuery(models.Model):
    """A request for peers' signatures by a process that has no connections; it is deleted once its answer is read."""

    chain = models.CharField(
        max_length=NAME_LENGTH, help_text="Name of the chain whose message is to be signed"
    )
    payload = BytesField(help_text="The SignatureRequest for the peers")
    node_ids = BytesField(help_text="The IDs of the nodes to ask, 20 bytes each")
    asked_at = models.DateTimeField()
    signatures = models.JSONField(
        null=True, help_text="The answer: signatures by node ID, in hex; null: not answered yet"
    )

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "signature queries"

    @override
    def __str__(self) -> str:
        return f"signatures on {self.chain}"
