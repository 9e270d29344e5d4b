"""A snapshot of one chain's consensus, for health checks, metrics and the admin (snowman.md 11)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from network_app.proposervm.ports import Proposal
from network_app.snowman.counts import Counts, Fetch, IssueSource
from network_app.snowman.parameters import ONE_VOTE, SnowParameters
from network_app.snowman.polls import Reason
from primitives.ids import ID, NodeID

LATENCIES = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
"""Upper bounds of the histogram of seconds from issue to acceptance; a last bucket is unbounded."""
WORK = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histogram of seconds spent on an accepted block; a last bucket is unbounded."""


class ReportedBlock(NamedTuple):
    """A block that is processing."""

    block_id: ID
    parent_id: ID
    height: int
    seconds: float
    """Seconds since it was issued."""
    preferred: bool
    confidence: int
    """Number of consecutive successful polls for it among its siblings."""
    proposer: NodeID | None = None
    """The node that signed it; None: unsigned."""
    issued_at: float = 0.0
    """Unix seconds."""


class OpenPoll(NamedTuple):
    """A poll that still waits for votes."""

    began_at: float
    """Unix seconds."""
    asked: int
    """Number of votes requested: k."""
    answered: int
    """Number of votes that arrived or failed."""


class DecidedBlock(NamedTuple):
    """A block that was accepted or rejected, with the course of its decision."""

    block_id: ID
    height: int
    seconds: float
    """Seconds from issue to decision."""
    polls: int
    """Number of polls that finished between issue and decision."""
    rejected: int
    """Number of blocks that were rejected because this one was accepted."""
    accepted: bool
    parent_id: ID
    proposer: NodeID | None
    """The node that signed it; None: unsigned."""
    issued_at: float
    """Unix seconds."""
    decided_at: float
    """Unix seconds."""


class Equivocation(NamedTuple):
    """A block that a proposer signed for a slot for which it had already signed another block."""

    proposer: NodeID
    height: int
    slot: int
    """Number of the slot, counted from the timestamp of the parent block."""
    first: ID
    second: ID
    seen_at: float
    """Unix seconds."""


class ProducerRewind(NamedTuple):
    """The block producer has rewound a block that was accepted here by its votes."""

    producer: NodeID
    accepted_id: ID
    """The block that the producer has accepted."""
    accepted_height: int
    own_height: int
    """Height of the last block accepted here."""

    @property
    def words(self) -> str:
        """Description for logs and health reports."""
        what = "below" if self.accepted_height < self.own_height else "another one than"
        return (
            f"{self.producer}, which makes all blocks, has block {self.accepted_id} at height "
            f"{self.accepted_height}, {what} the last one accepted here, at height {self.own_height}: "
            "its database was restored or changed, and this node cannot follow it with its own"
        )


class Outcomes(NamedTuple):
    """Sums over all blocks that were accepted, or rejected, since the process started."""

    blocks: int = 0
    seconds: float = 0.0
    """Seconds from issue to decision."""
    polls: int = 0
    """Polls between issue and decision."""
    size: int = 0
    """Bytes."""


class Work(NamedTuple):
    """Histogram of the time that this node spent on building, verifying and accepting each accepted block."""

    counts: tuple[int, ...] = (0,) * (len(WORK) + 1)
    """Number of blocks per bucket of `WORK`."""
    seconds: float = 0.0


class Issues(NamedTuple):
    """A copy of `snowman.counts.Counts`: where issued blocks came from, and how votes found their blocks."""

    sources: Mapping[str, int] = {}
    """Number of blocks that were issued, by `IssueSource`."""
    issuer_stake: int = 0
    useless_put_bytes: int = 0
    useless_push_query_bytes: int = 0
    missing_accepted: int = 0
    ancestor_fetches: Mapping[str, int] = {}
    """Number of votes, by `Fetch`."""
    votes: int = 0
    vote_index: int = 0

    @classmethod
    def of(cls, counts: Counts) -> Self:
        """Return a copy of the current counters."""
        return cls(
            {item.value: counts.issued[item] for item in IssueSource},
            counts.issuer_stake,
            counts.useless_put_bytes,
            counts.useless_push_query_bytes,
            counts.missing_accepted,
            {other.value: counts.ancestor_fetches[other] for other in Fetch},
            counts.votes,
            counts.vote_index,
        )


class Proposals(NamedTuple):
    """Statistics on the slots of outer blocks (p2p.md 11); None: no such block yet."""

    built_slot: int | None = None
    """Slot of the block that was last built here."""
    accepted_slot: int | None = None
    """Slot of the last accepted signed block."""
    accepted_time: int | None = None
    """Timestamp of that block, Unix seconds."""
    skew: float = 0.0
    """Sum over blocks built here of block time minus clock time, in seconds; negative if late."""

    def built(self, proposal: Proposal, now: float) -> Self:
        """Return the statistics after a block was built here; `now` is this node's clock (Unix seconds)."""
        assert proposal.time is not None
        skew = self.skew + proposal.time - now
        return self._replace(built_slot=proposal.slot, skew=skew)

    def accepted(self, proposal: Proposal) -> Self:
        """Return the statistics after a block was accepted; unsigned blocks change nothing."""
        if proposal.time is None:
            return self
        return self._replace(accepted_slot=proposal.slot, accepted_time=proposal.time)


@dataclass(frozen=True, slots=True)
class ConsensusTotals:
    """Counters since the process started."""

    successful_polls: int
    failed_polls: int
    finished_polls: Mapping[Reason, int]
    accepted: Outcomes
    rejected: Outcomes
    latencies: tuple[int, ...]
    """Number of accepted blocks per bucket of `LATENCIES`."""
    built: int
    failed_builds: int
    restarts: int
    """Number of times the engine restarted after a failure."""
    decisions: int = 0
    """Number of blocks that were accepted or rejected."""
    poll_seconds: Mapping[Reason, float] = field(default_factory=dict)
    """Sum of the seconds that finished polls were open, by reason."""
    lag: float = 0.0
    """Sum over accepted blocks of the seconds from their timestamp to their acceptance."""
    work: Work = Work()  # noqa: RUF009  # it is immutable
    equivocations: int = 0
    issues: Issues = Issues()  # noqa: RUF009  # likewise
    proposals: Proposals = Proposals()  # noqa: RUF009  # likewise


@dataclass(frozen=True, slots=True)
class Tables:
    """Number of entries in each of the engine's tables (snowman.md 8.1)."""

    processing: int = 0
    """Blocks that are processing."""
    polls: int = 0
    requests: int = 0
    """Blocks requested from peers."""
    pending: int = 0
    """Blocks that wait for their parents."""
    blockers: int = 0
    """Blocks that other work depends on."""
    unverified: int = 0
    waiting: int = 0
    """Messages, answers and failures still queued for the engine."""


@dataclass(frozen=True, slots=True)
class StakeReport:
    """The validators' stake in nAVAX, and the absent validators."""

    validators: int
    total: int
    absent: Mapping[NodeID, int]
    """Stake of each validator that is disconnected or benched."""
    unnamed: int = 0
    """Stake of absent validators beyond the maximum number that is listed."""

    @property
    def connected(self) -> float:
        """The connected share of the stake, 0 to 1."""
        return self._present / self.total if self.total else 0.0

    @property
    def percent(self) -> int:
        """The connected share in whole per cent, rounded down."""
        return 100 * self._present // self.total if self.total else 0

    @property
    def _present(self) -> int:
        return self.total - sum(self.absent.values()) - self.unnamed


@dataclass(frozen=True, slots=True)
class ConsensusReport:
    """The current state of one chain's consensus."""

    alias: str
    parameters: SnowParameters
    is_running: bool
    """Whether this node takes part; False while the chain bootstraps and before the engine restarts."""
    last_accepted: ID | None
    last_height: int
    preference: ID | None
    max_verified_height: int
    processing: tuple[ReportedBlock, ...]
    """In the order in which they were issued."""
    decided: tuple[DecidedBlock, ...]
    """The most recent decisions."""
    tables: Tables
    stake: StakeReport
    totals: ConsensusTotals
    polls: tuple[OpenPoll, ...] = ()
    """The open polls, oldest first."""
    equivocations: tuple[Equivocation, ...] = ()
    """The most recent equivocations."""
    contradiction: ProducerRewind | None = None

    @property
    def obstacle(self) -> str | None:
        """The reason why no block can be decided, or None."""
        if self.contradiction is not None:
            return self.contradiction.words
        needed = self.parameters.min_connected_to_poll
        if self.parameters == ONE_VOTE and self.stake.validators == len(self.stake.absent) == 1:
            (producer,) = self.stake.absent
            return f"does not hear {producer}, which makes all blocks"
        if self.stake.connected < needed:
            return f"hears {self.stake.percent} % of the stake, needs {100 * needed:.0f} %"
        return None

    def decided_since(self, decisions: int) -> tuple[DecidedBlock, ...]:
        """Return the decisions after the first `decisions` ones, as far as they are remembered."""
        new = self.totals.decisions - decisions
        return self.decided[-new:] if new > 0 else ()
