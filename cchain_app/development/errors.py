"""Why something is not done by hand on a chain to develop against.

DevelopmentError
├── HasPeers             other nodes follow the chain
├── TimeBeforeHead       a block would be older than the one before it
├── TimeTooLate          the clock would show what no answer can say
├── DepthTooLarge        more blocks are to go than there are
├── ReorgBlockTooHigh    a transaction is for a block that is not made anew
├── NoBalanceSlot        no slot of a token holds what it says of an account
├── DumpNotReadable      bytes that are no dump of a state
├── TooManySignatures    no more signatures get a signer by hand
├── ChainHasBlocks       the chain ID of a chain with blocks stays
├── TransactionsWait     so does that of one for which transactions wait
├── ForkHasChainId       and that of a fork
└── AlreadyMined         a transaction that is in a block is not dropped
"""


class DevelopmentError(Exception):
    """What cannot be done, in words that tools show to their users."""


class HasPeers(DevelopmentError):
    """Others have seen its blocks."""

    def __init__(self) -> None:
        super().__init__("development methods need a chain of this node alone")


class TimeBeforeHead(DevelopmentError):
    """A block's time would be below the head's."""

    def __init__(self, time: int, head: int) -> None:
        super().__init__(f"Timestamp error: {time} is lower than previous block's timestamp {head}")
        self.time = time
        self.head = head


class TimeTooLate(DevelopmentError):
    """The clock would show a year that answers cannot say."""


class DepthTooLarge(DevelopmentError):
    """More blocks are to be dropped than there are above the genesis block."""

    def __init__(self, what: str, height: int, depth: int) -> None:
        super().__init__(
            f"{what} depth must not exceed current chain height: current height {height}, depth {depth}"
        )
        self.height = height
        self.depth = depth


class ReorgBlockTooHigh(DevelopmentError):
    """A transaction of a reorganisation is for a block beyond its last."""

    def __init__(self, block: int, last: int) -> None:
        super().__init__(
            "Block number for reorg tx will exceed the reorged chain height. "
            f"Block number {block} must not exceed (depth-1) {last}"
        )
        self.block = block
        self.last = last


class NoBalanceSlot(DevelopmentError):
    """None of the slots that a token reads is what its answer follows."""

    def __init__(self, what: str) -> None:
        super().__init__(f"Unable to set ERC20 {what}, no slot found")


class DumpNotReadable(DevelopmentError):
    """Bytes that are neither gzip nor JSON, or have no accounts."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Failed to decode state dump: {reason}")
        self.reason = reason


class TooManySignatures(DevelopmentError):
    """So many signatures have a signer that was set by hand that there is no room for another."""

    def __init__(self, most: int) -> None:
        super().__init__(f"at most {most} signatures can be impersonated; anvil_reset forgets them")
        self.most = most


class ChainHasBlocks(DevelopmentError):
    """Its transactions are signed for the ID that it has."""

    def __init__(self, height: int) -> None:
        super().__init__(
            f"the chain ID can only be changed before the first block; the head is block {height}"
        )
        self.height = height


class TransactionsWait(DevelopmentError):
    """They are signed for the chain ID that it has."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"the chain ID can only be changed while no transaction waits; {count} in the pool: "
            "anvil_dropAllTransactions drops them"
        )
        self.count = count


class ForkHasChainId(DevelopmentError):
    """A fork goes on from a block of a chain that has one."""

    def __init__(self, chain_id: int) -> None:
        super().__init__(
            f"the chain ID of a fork stays, {chain_id} here; NODE_FORK_CHAIN_ID or --fork-chain-id sets that of a new one"
        )
        self.chain_id = chain_id


class AlreadyMined(DevelopmentError):
    """The transaction is in a block."""

    def __init__(self, transaction: bytes) -> None:
        super().__init__(
            f"Transaction 0x{transaction.hex()} cannot be dropped because it's already mined"
        )
