"""Why a round of bootstrapping begins again, and what is wrong with an answer.

SyncError
├── BadAncestors         the peer that answered is set aside for this chain
│   ├── UnreadableBlock    one of the containers is no block
│   ├── WrongBlock         the first is not the one that was asked for
│   └── BrokenAncestry     one is not the parent of the one before
├── UnusableGenesis      another node is asked for the network's genesis
└── RoundFailed          bootstrapping asks for the frontier again
    ├── NoAgreement        the beacons have accepted nothing in common
    ├── OtherGenesis       they began with another block
    ├── NobodyHas          no peer gave a block that beacons have accepted
    ├── TooMuchFetched     there is no room for what would have to be stored and is not executed
    ├── WrongHeight        a block's height does not fit its parent's
    ├── Forked             what the beacons accepted does not follow our last block
    ├── BlockRefused       a fetched block is invalid, or in a format that is not known here
    └── Stuck              fetched blocks cannot be judged yet
"""

from collections.abc import Sequence

from network_app.ports import InvalidBlock
from primitives.ids import ID, NodeID


class SyncError(Exception):
    """Following the network did not go on."""


class BadAncestors(SyncError):
    """An answer that no honest peer gives."""


class UnreadableBlock(BadAncestors):
    """Bytes that are no block."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"sent bytes that are no block: {reason}")
        self.reason = reason


class WrongBlock(BadAncestors):
    """Another block than the one that was asked for."""

    def __init__(self, wanted: ID, got: ID) -> None:
        super().__init__(f"was asked for block {wanted} and sent {got}")
        self.wanted = wanted
        self.got = got


class BrokenAncestry(BadAncestors):
    """Blocks that are not each other's parents."""

    def __init__(self, parent_id: ID, got: ID) -> None:
        super().__init__(f"sent {got} as the parent of a block whose parent is {parent_id}")
        self.parent_id = parent_id
        self.got = got


class UnusableGenesis(SyncError):
    """What a node told is no genesis of this network; the message says why."""


class RoundFailed(SyncError):
    """A round of bootstrapping came to nothing; the next may not."""


class NoAgreement(RoundFailed):
    """No block is accepted by more than half of the beacons."""

    def __init__(self, asked: int) -> None:
        super().__init__(f"{asked} beacons have accepted nothing in common")
        self.asked = asked


class OtherGenesis(RoundFailed):
    """Peers whose chain begins with another block than this node's."""

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
    """A block that no connected peer gave."""

    def __init__(self, block_id: ID) -> None:
        super().__init__(f"no peer gave block {block_id}")
        self.block_id = block_id


class TooMuchFetched(RoundFailed):
    """Blocks that are not executed yet, of more bytes than may be stored."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"fetched blocks take more than {most} bytes and none of them can be executed yet"
        )
        self.most = most


class WrongHeight(RoundFailed):
    """A block that cannot stand where it does. IDs are hashes: who passes it on did not make it up."""

    def __init__(self, block_id: ID, height: int, expected: int) -> None:
        super().__init__(f"block {block_id} says height {height} and has to have {expected}")
        self.block_id = block_id
        self.height = height
        self.expected = expected


class Forked(RoundFailed):
    """The network accepted another block where we have accepted one."""

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
    """Blocks that are there and cannot be accepted yet."""

    def __init__(self, height: int, reason: str) -> None:
        super().__init__(f"fetched blocks above height {height} cannot be judged: {reason}")
        self.height = height
        self.reason = reason
