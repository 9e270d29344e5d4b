"""What is shown of one chain's consensus: health, metrics and the admin make their words of it (snowman.md 11)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from network_app.proposervm.ports import Proposal
from network_app.snowman.counts import Counts, Fetch, Source
from network_app.snowman.parameters import ONE_VOTE, Parameters
from network_app.snowman.polls import Reason
from primitives.ids import ID, NodeID

LATENCIES = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
"""Bounds of the histogram of seconds from issue to acceptance; above the last one there is another part."""
WORK = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Bounds of the histogram of seconds for which this node worked on an accepted block; likewise."""


class ProcessingBlock(NamedTuple):
    """A block that waits for its decision."""

    block_id: ID
    parent_id: ID
    height: int
    seconds: float
    """Since it was issued."""
    preferred: bool
    confidence: int
    """Successful polls in a row for it among its siblings."""
    proposer: NodeID | None = None
    """Who signed it; None: nobody."""
    issued_at: float = 0.0
    """Unix seconds."""


class OpenPoll(NamedTuple):
    """A poll whose votes are not all there."""

    began_at: float
    """Unix seconds."""
    asked: int
    """Votes that were asked for: k."""
    answered: int
    """Votes that came, or will not come."""


class DecidedBlock(NamedTuple):
    """A block that was accepted or rejected, and how that came."""

    block_id: ID
    height: int
    seconds: float
    """From issue to decision."""
    polls: int
    """That ended between the two."""
    rejected: int
    """Blocks that were rejected for it."""
    accepted: bool
    parent_id: ID
    proposer: NodeID | None
    """Who signed it; None: nobody."""
    issued_at: float
    """Unix seconds."""
    decided_at: float
    """Unix seconds."""


class Equivocation(NamedTuple):
    """A block that a proposer signed for a slot for which it had signed another one."""

    proposer: NodeID
    height: int
    slot: int
    """Of those that begin with the time of the block before."""
    first: ID
    second: ID
    seen_at: float
    """Unix seconds."""


class Contradiction(NamedTuple):
    """The one node that makes all blocks has taken back what was accepted here by its votes."""

    producer: NodeID
    accepted_id: ID
    """What it has accepted."""
    accepted_height: int
    own_height: int
    """Of the last block that was accepted here."""

    @property
    def words(self) -> str:
        """What is told of it."""
        what = "below" if self.accepted_height < self.own_height else "another one than"
        return (
            f"{self.producer}, which makes all blocks, has block {self.accepted_id} at height "
            f"{self.accepted_height}, {what} the last one accepted here, at height {self.own_height}: "
            "its database was restored or changed, and this node cannot follow it with its own"
        )


class Outcomes(NamedTuple):
    """Sums over all blocks that were accepted, or rejected, since the process began."""

    blocks: int = 0
    seconds: float = 0.0
    """From issue to decision."""
    polls: int = 0
    """Between the two."""
    size: int = 0
    """Bytes."""


class Work(NamedTuple):
    """For how long this node built or verified, and accepted, each accepted block."""

    counts: tuple[int, ...] = (0,) * (len(WORK) + 1)
    """Blocks by the part of `WORK` that they fall into."""
    seconds: float = 0.0


class Issues(NamedTuple):
    """Where the engine's blocks came from, and how votes found theirs: `snowman.counts.Counts`, at a moment."""

    sources: Mapping[str, int] = {}
    """Blocks that became processing, by `Source`."""
    issuer_stake: int = 0
    useless_put_bytes: int = 0
    useless_push_query_bytes: int = 0
    missing_accepted: int = 0
    ancestor_fetches: Mapping[str, int] = {}
    """Votes by `Fetch`."""
    votes: int = 0
    vote_index: int = 0

    @classmethod
    def of(cls, counts: Counts) -> Self:
        """Return what is counted as of now."""
        return cls(
            {one.value: counts.issued[one] for one in Source},
            counts.issuer_stake,
            counts.useless_put_bytes,
            counts.useless_push_query_bytes,
            counts.missing_accepted,
            {one.value: counts.ancestor_fetches[one] for one in Fetch},
            counts.votes,
            counts.vote_index,
        )


class Proposals(NamedTuple):
    """What outer blocks say of their proposers' slots (p2p.md 11); None: there was none yet."""

    built_slot: int | None = None
    """Of the block that was built here last."""
    accepted_slot: int | None = None
    """Of the last accepted block that is signed."""
    accepted_time: int | None = None
    """Its time, Unix seconds."""
    skew: float = 0.0
    """Seconds from this node's clock to the time of the blocks that it built, together; behind it is less than 0."""

    def built(self, proposal: Proposal, now: float) -> Self:
        """Return the same after a block was built here, by this node's clock (Unix seconds)."""
        assert proposal.time is not None
        skew = self.skew + proposal.time - now
        return self._replace(built_slot=proposal.slot, skew=skew)

    def accepted(self, proposal: Proposal) -> Self:
        """Return the same after a block was accepted; nothing changes by one that nobody signed."""
        if proposal.time is None:
            return self
        return self._replace(accepted_slot=proposal.slot, accepted_time=proposal.time)


@dataclass(frozen=True, slots=True)
class Totals:
    """Counters since the process began."""

    successful_polls: int
    failed_polls: int
    finished_polls: Mapping[Reason, int]
    accepted: Outcomes
    rejected: Outcomes
    latencies: tuple[int, ...]
    """Accepted blocks by the part of `LATENCIES` that they fall into."""
    built: int
    failed_builds: int
    restarts: int
    """How often the engine began anew after a failure."""
    decisions: int = 0
    """Blocks that were accepted or rejected."""
    poll_seconds: Mapping[Reason, float] = field(default_factory=dict)
    """For how long finished polls were open, together."""
    lag: float = 0.0
    """Seconds from accepted blocks' own time to their acceptance, together."""
    work: Work = Work()  # noqa: RUF009  # it is immutable
    equivocations: int = 0
    issues: Issues = Issues()  # noqa: RUF009  # likewise
    proposals: Proposals = Proposals()  # noqa: RUF009  # likewise


@dataclass(frozen=True, slots=True)
class Tables:
    """The engine's, by how many are in them (snowman.md 8.1)."""

    processing: int = 0
    """Blocks that wait for their decision."""
    polls: int = 0
    requests: int = 0
    """Blocks that nodes are asked for."""
    pending: int = 0
    """Blocks that wait for their parents."""
    blockers: int = 0
    """Blocks that something waits for."""
    unverified: int = 0
    waiting: int = 0
    """Messages, answers and failures that the engine was not told of yet."""


@dataclass(frozen=True, slots=True)
class Stake:
    """The validators' stake in nAVAX, and who is missing."""

    validators: int
    total: int
    absent: Mapping[NodeID, int]
    """Validators that are not connected, or do not answer."""
    unnamed: int = 0
    """Stake of those among them that are too many to be named."""

    @property
    def connected(self) -> float:
        """The share that is connected, 0 to 1."""
        return self._present / self.total if self.total else 0.0

    @property
    def percent(self) -> int:
        """The same in whole per cent, rounded down."""
        return 100 * self._present // self.total if self.total else 0

    @property
    def _present(self) -> int:
        return self.total - sum(self.absent.values()) - self.unnamed


@dataclass(frozen=True, slots=True)
class ConsensusReport:
    """How one chain is being decided on now."""

    alias: str
    parameters: Parameters
    is_running: bool
    """Whether this node takes part; not while the chain bootstraps, nor before it begins anew."""
    last_accepted: ID | None
    last_height: int
    preference: ID | None
    max_verified_height: int
    processing: tuple[ProcessingBlock, ...]
    """In the order in which they came."""
    decided: tuple[DecidedBlock, ...]
    """The latest ones."""
    tables: Tables
    stake: Stake
    totals: Totals
    polls: tuple[OpenPoll, ...] = ()
    """The open ones, in the order in which they began."""
    equivocations: tuple[Equivocation, ...] = ()
    """The latest ones."""
    contradiction: Contradiction | None = None

    @property
    def obstacle(self) -> str | None:
        """Why nothing is decided, in words; None where nothing keeps it from being."""
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
        """Return what was decided after so many decisions, as far as it is remembered."""
        new = self.totals.decisions - decisions
        return self.decided[-new:] if new > 0 else ()
