"""Why a use case refuses, where it is not a rule of the chain.

RefusedIssue                the mempool, in the reference's words (pchain.md 5.6)
├── TooLarge
├── MempoolFull
├── ConflictingTx
└── NothingImports
GenesisMismatch             what is there is another network than the settings name
├── OtherNetwork            in the database
├── OtherGenesis            in the database, begun with another file
└── FileOfOtherNetwork      in the genesis file
NotLocal                    something that only a local network does
MadeElsewhere               something that only the node does that makes the blocks
DecidedByVotes              something that one node cannot do where the validators vote
"""

from primitives.ids import ID


class RefusedIssue(Exception):
    """A transaction that the mempool does not take now."""


class TooLarge(RefusedIssue):
    """One transaction has too many bytes."""

    def __init__(self, tx_id: ID, size: int, largest: int) -> None:
        super().__init__(f"tx too large: {tx_id} size ({size}) > max size ({largest})")
        self.tx_id = tx_id


class MempoolFull(RefusedIssue):
    """Too many bytes wait already."""

    def __init__(self, tx_id: ID, size: int, room: int) -> None:
        super().__init__(f"mempool is full: {tx_id} size ({size}) > available space ({room})")
        self.tx_id = tx_id


class ConflictingTx(RefusedIssue):
    """Another transaction that waits spends the same output."""

    def __init__(self, tx_id: ID) -> None:
        super().__init__(f"tx conflicts with other tx: {tx_id}")
        self.tx_id = tx_id


class NothingImports(RefusedIssue):
    """An export: its coins would lie between two chains, and nobody could take them out."""

    def __init__(self, tx_id: ID) -> None:
        super().__init__(
            "transfers between chains do not exist on this node yet, so the coins that "
            f"{tx_id} exports could not be imported"
        )
        self.tx_id = tx_id


class GenesisMismatch(Exception):
    """What is there is another chain than the settings ask for."""


class OtherNetwork(GenesisMismatch):
    """It was begun for another network, or with other parameters."""

    def __init__(self, stored: int, wanted: int) -> None:
        super().__init__(
            f"the database holds the P-Chain of network {stored}, or one with other parameters, not "
            f"network {wanted}: choose another NODE_DATA_DIR or another database"
        )
        self.stored = stored
        self.wanted = wanted


class OtherGenesis(GenesisMismatch):
    """It was begun with another genesis file."""

    def __init__(self, stored: ID, wanted: ID) -> None:
        super().__init__(
            f"the P-Chain in the database began with genesis {stored}, not with {wanted}: choose "
            "another NODE_DATA_DIR or another database"
        )
        self.stored = stored
        self.wanted = wanted


class FileOfOtherNetwork(GenesisMismatch):
    """The genesis file was written for another network."""

    def __init__(self, in_file: int, wanted: int) -> None:
        super().__init__(
            f"networkID {wanted} specified but genesis config contains networkID {in_file}: choose "
            "another NODE_PLATFORM_GENESIS or NODE_NETWORK_ID"
        )
        self.in_file = in_file
        self.wanted = wanted


class NotLocal(Exception):
    """The network's clock is everybody's."""

    def __init__(self, network_id: int) -> None:
        super().__init__(f"only a local network's clock can be moved, not network {network_id}'s")
        self.network_id = network_id


class MadeElsewhere(Exception):
    """Another node of the network makes the blocks."""

    def __init__(self) -> None:
        super().__init__(
            "another node makes this network's blocks: move the clock of that one, and this one's follows"
        )


class DecidedByVotes(Exception):
    """The validators vote on blocks, and none follows another one's clock."""

    def __init__(self) -> None:
        super().__init__(
            "the validators vote on this network's blocks (NODE_CONSENSUS), and none of them follows the clock of "
            "another: the clock is moved where one node makes all blocks"
        )
