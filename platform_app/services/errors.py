"""Reasons for which a use case fails that are not rules of the chain.

RefusedIssue                the mempool, with the reference's messages (pchain.md 5.6)
├── TooLarge
├── MempoolFull
├── ConflictingTx
└── NothingImports
GenesisMismatch             the network differs from the one in the settings
├── OtherNetwork            in the database
├── OtherGenesis            in the database, created from another file
└── FileOfOtherNetwork      in the genesis file
NotLocal                    an operation for local networks only
MadeElsewhere               an operation for the block-producing node only
DecidedByVotes              an operation that one node cannot do if the validators vote
"""

from primitives.ids import ID


class RefusedIssue(Exception):
    """A transaction that the mempool does not accept at the moment."""


class TransactionTooLarge(RefusedIssue):
    """A transaction that is too large."""

    def __init__(self, tx_id: ID, size: int, largest: int) -> None:
        super().__init__(f"tx too large: {tx_id} size ({size}) > max size ({largest})")
        self.tx_id = tx_id


class MempoolFull(RefusedIssue):
    """A mempool without space for the transaction."""

    def __init__(self, tx_id: ID, size: int, room: int) -> None:
        super().__init__(f"mempool is full: {tx_id} size ({size}) > available space ({room})")
        self.tx_id = tx_id


class ConflictingTx(RefusedIssue):
    """A transaction that spends the same output as another pending one."""

    def __init__(self, tx_id: ID) -> None:
        super().__init__(f"tx conflicts with other tx: {tx_id}")
        self.tx_id = tx_id


class NothingImports(RefusedIssue):
    """An export that no chain could import, so that its coins would be lost."""

    def __init__(self, tx_id: ID) -> None:
        super().__init__(
            "transfers between chains do not exist on this node yet, so the coins that "
            f"{tx_id} exports could not be imported"
        )
        self.tx_id = tx_id


class GenesisMismatch(Exception):
    """A chain that differs from the one in the settings."""


class DatabaseOfOtherNetwork(GenesisMismatch):
    """A database created for another network, or with other parameters."""

    def __init__(self, stored: int, wanted: int) -> None:
        super().__init__(
            f"the database holds the P-Chain of network {stored}, or one with other parameters, not "
            f"network {wanted}: choose another NODE_DATA_DIR or another database"
        )
        self.stored = stored
        self.wanted = wanted


class OtherGenesisFile(GenesisMismatch):
    """A database created from another genesis file."""

    def __init__(self, stored: ID, wanted: ID) -> None:
        super().__init__(
            f"the P-Chain in the database began with genesis {stored}, not with {wanted}: choose "
            "another NODE_DATA_DIR or another database"
        )
        self.stored = stored
        self.wanted = wanted


class FileOfOtherNetwork(GenesisMismatch):
    """A genesis file for another network."""

    def __init__(self, in_file: int, wanted: int) -> None:
        super().__init__(
            f"networkID {wanted} specified but genesis config contains networkID {in_file}: choose "
            "another NODE_PLATFORM_GENESIS or NODE_NETWORK_ID"
        )
        self.in_file = in_file
        self.wanted = wanted


class ClockNotMovable(Exception):
    """A public network, whose clock cannot be moved."""

    def __init__(self, network_id: int) -> None:
        super().__init__(f"only a local network's clock can be moved, not network {network_id}'s")
        self.network_id = network_id


class MadeElsewhere(Exception):
    """Another node of the network produces the blocks."""

    def __init__(self) -> None:
        super().__init__(
            "another node makes this network's blocks: move the clock of that one, and this one's follows"
        )


class DecidedByVotes(Exception):
    """The validators vote on blocks and do not follow another node's clock."""

    def __init__(self) -> None:
        super().__init__(
            "the validators vote on this network's blocks (NODE_CONSENSUS), and none of them follows the clock of "
            "another: the clock is moved where one node makes all blocks"
        )
