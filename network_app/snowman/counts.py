"""What an engine counts beside its tables: where blocks come from, what comes in vain, how votes find their blocks.

By the reference's names and meanings (snowman.md 11); the owner of the figures keeps them when an engine ends.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from primitives.ids import NodeID


class Source(Enum):
    """By what this node came to a block that it issued.

    Unspecified: one that was fetched for another's sake has that one's source; the options of a proposal have
    the proposal's, as in the reference.
    """

    PUSH_GOSSIP = "push_gossip"
    """A query of another node, which told of it."""
    PULL_GOSSIP = "pull_gossip"
    """An answer to a query of this node."""
    BUILT = "built"
    """This node built it, or it is an option of the proposal that was accepted last when the engine began."""
    UNKNOWN = "unknown"
    """It came without having been asked for."""


class Fetch(Enum):
    """What became of looking for the processing block that a vote counts for."""

    UNNEEDED = "unneeded"
    """The vote named it."""
    SUCCEEDED = "succeeded"
    """The vote named one that is not verified here, and it is an ancestor of that."""
    DROPPED = "dropped"
    """What the vote named is decided."""
    FAILED = "failed"
    """What the vote named, or one before that, is unknown here."""


class Origin(NamedTuple):
    """Where a block came from."""

    node_id: NodeID | None
    """Who told of it; None: this node itself."""
    source: Source


@dataclass(slots=True)
class Counts:
    """Counters since the process began."""

    issued: Counter[Source] = field(default_factory=Counter)
    """Blocks that became processing."""
    issuer_stake: int = 0
    """Of those who told of these, together, in nAVAX."""
    useless_put_bytes: int = 0
    """Of blocks that came when they were issued already, or decided."""
    useless_push_query_bytes: int = 0
    missing_accepted: int = 0
    """Accepted blocks that the chain could not name when a query asked for their height."""
    ancestor_fetches: Counter[Fetch] = field(default_factory=Counter)
    votes: int = 0
    """That counted for a block."""
    vote_index: int = 0
    """Which of an answer's choices those were, together: the first one is 0."""
