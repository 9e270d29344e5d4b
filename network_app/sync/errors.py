"""Errors of bootstrapping: invalid answers, and rounds that must be repeated.

SyncError
├── BadAncestors         the peer that answered is set aside for this chain
│   ├── UnreadableBlock    one of the containers is not a block
│   ├── WrongBlock         the first block is not the requested one
│   └── BrokenAncestry     a block is not the parent of the one before
├── UnusableGenesis      another node is asked for the network's genesis
└── RoundFailed          bootstrapping asks for the frontier again
    ├── NoAgreement        the beacons have no accepted block in common
    ├── OtherGenesis       peers have another genesis block
    ├── NobodyHas          no peer sent a block that beacons have accepted
    ├── TooMuchFetched     the fetched blocks that are not executed yet exceed their limit
    ├── WrongHeight        a block's height does not fit its parent's
    ├── Forked             the block that the beacons accepted does not follow our last block
    ├── BlockRefused       a fetched block is invalid, or in a format that is not known here
    └── Stuck              fetched blocks cannot be verified yet
"""

from collections.abc import Sequence

from network_app.ports import InvalidBlock
from primitives.ids import ID, NodeID


class SyncError(Exception):
    """Synchronisation with the network failed."""


class BadAncestors(SyncError):
    """An answer that an honest peer does not give."""


class UnparsableBlock(BadAncestors):
    """Bytes that are not a block."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"sent bytes that are no block: {reason}")
        self.reason = reason


class WrongBlock(BadAncestors):
    """A block other than the requested one."""

    def __init__(self, wanted: ID, got: ID) -> None:
        super().__init__(f"was asked for block {wanted} and sent {got}")
        self.wanted = wanted
        self.got = got


class BrokenAncestry(BadAncestors):
    """Consecutive blocks that are not parent and child."""

    def __init__(self, parent_id: ID, got: ID) -> None:
        super().__init__(f"sent {got} as the parent of a block whose parent is {parent_id}")
        self.parent_id = parent_id
        self.got = got


class UnusableGenesis(SyncError):
    """The answer of a node is not a genesis of this network; the message says why."""


class RoundFailed(SyncError):
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
        self.difference = f"a {alias}-Chain with another genesis than this node's, which is {ours}"
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


class BlockRefused(RoundFailed):
    """A fetched block is invalid."""

    def __init__(self, error: InvalidBlock) -> None:
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
