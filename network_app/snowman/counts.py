"""Counters of an engine: sources of blocks, useless bytes, and how votes find their blocks.

Names and meanings are those of the reference (snowman.md 11). The counters outlive the engine: the object
that reports the statistics owns them.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from primitives.ids import NodeID


class IssueSource(Enum):
    """The way by which this node learned of a block that it issued.

    Unspecified: an ancestor that was fetched for another block has the source of that block. The options of
    a proposal have the proposal's source, as in the reference.
    """

    PUSH_GOSSIP = "push_gossip"
    """A query by another node named the block."""
    PULL_GOSSIP = "pull_gossip"
    """An answer to a query of this node named the block."""
    BUILT = "built"
    """This node built it, or it is an option of a proposal that was last accepted when the engine started."""
    UNKNOWN = "unknown"
    """It arrived without a request."""


class Fetch(Enum):
    """The outcome of the search for the processing block that a vote counts for."""

    UNNEEDED = "unneeded"
    """The vote named a processing block."""
    SUCCEEDED = "succeeded"
    """The vote named an unverified block, and a processing ancestor of it was found."""
    DROPPED = "dropped"
    """The block that the vote named is already decided."""
    FAILED = "failed"
    """The block that the vote named, or one of its ancestors, is unknown here."""


class BlockOrigin(NamedTuple):
    """The source of a block."""

    node_id: NodeID | None
    """The node that named it; None: this node itself."""
    source: IssueSource


@dataclass(slots=True)
class Counts:
    """Counters since the process started."""

    issued: Counter[IssueSource] = field(default_factory=Counter)
    """Number of blocks that became processing."""
    issuer_stake: int = 0
    """Sum of the stakes of the nodes that named these blocks, in nAVAX."""
    useless_put_bytes: int = 0
    """Bytes of blocks that had already been issued or decided when they arrived."""
    useless_push_query_bytes: int = 0
    missing_accepted: int = 0
    """Number of queries for the height of an accepted block that the VM could not find."""
    ancestor_fetches: Counter[Fetch] = field(default_factory=Counter)
    votes: int = 0
    """Number of votes that counted for a block."""
    vote_index: int = 0
    """Sum of the positions of these votes among the choices of their answers; the first choice is 0."""
