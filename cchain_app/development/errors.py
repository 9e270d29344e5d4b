"""Errors of the development methods.

DevelopmentError
├── HasPeers             other nodes follow the chain
├── TimeBeforeHead       a block would be older than its parent
├── TimeTooLate          the clock would show a year that responses cannot express
├── DepthTooLarge        more blocks are to be dropped than the chain has
├── ReorgBlockTooHigh    a transaction is for a block beyond the last one of the reorganisation
├── NoBalanceSlot        no slot of a token holds the value that it returns for an account
├── DumpNotReadable      the bytes are not a dump of a state
├── TooManySignatures    the limit of impersonated signatures is reached
├── ChainHasBlocks       the chain ID cannot change because the chain has blocks
├── TransactionsWait     the chain ID cannot change because there are pending transactions
├── ForkHasChainId       the chain ID of a fork cannot change
└── AlreadyMined         a transaction that is in a block cannot be dropped
"""


class DevelopmentError(Exception):
    """A development request that cannot be fulfilled; tools show the message to their users."""


class HasPeers(DevelopmentError):
    """Other nodes have seen the chain's blocks."""

    def __init__(self) -> None:
        super().__init__("development methods need a chain of this node alone")


class TimeBeforeHead(DevelopmentError):
    """A block's time would be before the head's."""

    def __init__(self, time: int, head: int) -> None:
        super().__init__(f"Timestamp error: {time} is lower than previous block's timestamp {head}")
        self.time = time
        self.head = head


class TimeTooLate(DevelopmentError):
    """The clock would show a year that responses cannot express."""


class DepthTooLarge(DevelopmentError):
    """More blocks are to be dropped than there are above the genesis block."""

    def __init__(self, what: str, height: int, depth: int) -> None:
        super().__init__(
            f"{what} depth must not exceed current chain height: current height {height}, depth {depth}"
        )
        self.height = height
        self.depth = depth


class ReorgBlockTooHigh(DevelopmentError):
    """A transaction of a reorganisation is for a block after the last new one."""

    def __init__(self, block: int, last: int) -> None:
        super().__init__(
            "Block number for reorg tx will exceed the reorged chain height. "
            f"Block number {block} must not exceed (depth-1) {last}"
        )
        self.block = block
        self.last = last


class NoBalanceSlot(DevelopmentError):
    """The token's return value depends on none of the slots that it reads."""

    def __init__(self, what: str) -> None:
        super().__init__(f"Unable to set ERC20 {what}, no slot found")


class DumpNotReadable(DevelopmentError):
    """Bytes that are neither gzip nor JSON, or have no accounts."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Failed to decode state dump: {reason}")
        self.reason = reason


class TooManySignatures(DevelopmentError):
    """The limit of signatures with an impersonated signer is reached."""

    def __init__(self, most: int) -> None:
        super().__init__(f"at most {most} signatures can be impersonated; anvil_reset forgets them")
        self.most = most


class ChainHasBlocks(DevelopmentError):
    """The chain's transactions are signed for its current ID."""

    def __init__(self, height: int) -> None:
        super().__init__(
            f"the chain ID can only be changed before the first block; the head is block {height}"
        )
        self.height = height


class TransactionsWait(DevelopmentError):
    """The pending transactions are signed for the current chain ID."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"the chain ID can only be changed while no transaction waits; {count} in the pool: "
            "anvil_dropAllTransactions drops them"
        )
        self.count = count


class ForkHasChainId(DevelopmentError):
    """A fork keeps the chain ID of the chain that it was forked from."""

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
