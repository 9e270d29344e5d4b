"""Errors of bootstrapping: invalid answers, and rounds that must be repeated."""

from collections.abc import Sequence
from enum import StrEnum

from network_app.ports import BlockRejection
from primitives.ids import ID, NodeID
from primitives.networks import title
from primitives.reasons import ErrorWithReason


class AncestryReason(StrEnum):
    """A fault in an answer to GetAncestors."""

    UNPARSABLE = "sent bytes that are no block: {cause}"
    OTHER_BLOCK = "was asked for block {wanted} and sent {actual}"
    NOT_THE_PARENT = "sent {actual} as the parent of a block whose parent is {parent_id}"


class BadAncestors(ErrorWithReason):
    """An answer that an honest peer does not give. The peer is set aside for this chain."""


class UnusableGenesis(Exception):
    """The answer of a node is not a genesis of this network; the message says why."""


class RoundFailed(Exception):
    """A round of bootstrapping failed; the next one may succeed."""


class NoAgreement(RoundFailed):
    """No block is accepted by more than half of the beacons."""

    def __init__(self, asked: int) -> None:
        super().__init__(f"{asked} beacons have accepted nothing in common")
        self.asked = asked


class PeerGenesisMismatch(RoundFailed):
    """Peers whose genesis block is not this node's."""

    def __init__(self, alias: str, nodes: Sequence[NodeID], ours: ID) -> None:
        others = len(nodes) - 1
        who = str(nodes[0])
        if others:
            who += f" and {others} other{'s' if others > 1 else ''} follow"
        else:
            who += " follows"
        self.difference = f"a {title(alias)} with another genesis than this node's, which is {ours}"
        super().__init__(f"{who} {self.difference}")
        self.nodes = tuple(nodes)
        self.ours = ours


class NobodyHas(RoundFailed):
    """A block that no connected peer sent."""

    def __init__(self, block_id: ID) -> None:
        super().__init__(f"no peer gave block {block_id}")
        self.block_id = block_id


class TooMuchFetched(RoundFailed):
    """Blocks that are not executed yet, and that exceed the limit for stored bytes."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"fetched blocks take more than {most} bytes and none of them can be executed yet"
        )
        self.most = most


class ImpossibleHeight(RoundFailed):
    """A block whose height is impossible. IDs are hashes, so the peer that sent it did not forge it."""

    def __init__(self, block_id: ID, height: int, expected: int) -> None:
        super().__init__(f"block {block_id} says height {height} and has to have {expected}")
        self.block_id = block_id
        self.height = height
        self.expected = expected


class Forked(RoundFailed):
    """The network accepted another block at a height at which this node has accepted one."""

    def __init__(self, height: int, ours: ID, theirs: ID) -> None:
        super().__init__(f"at height {height} the network has block {theirs} and we have {ours}")
        self.height = height
        self.ours = ours
        self.theirs = theirs


class InvalidFetchedBlock(RoundFailed):
    """A fetched block is invalid."""

    def __init__(self, error: BlockRejection) -> None:
        super().__init__(f"sent an invalid {error}")
        self.block_id = error.block_id
        self.height = error.height
        self.reason = error.reason
        self.spoiled = error.spoiled


class Stuck(RoundFailed):
    """Blocks that are stored and cannot be accepted yet."""

    def __init__(self, height: int, reason: str) -> None:
        super().__init__(f"fetched blocks above height {height} cannot be judged: {reason}")
        self.height = height
        self.reason = reason
