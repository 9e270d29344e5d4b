"""Interfaces between the parts of the network process. Pure.

`peers.network.Network` is the `Network`. `sync.router.ChainRouter` is the `MessageHandler` above it and drives an
`AcceptedChain` for each chain, which `chains` builds from Django services and rows. All methods of `AcceptedChain` and
`NetworkReports` block and are called in a thread; those of the other interfaces are called on the event loop.
"""

from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from typing_extensions import override

from chainvm.errors import InvalidBlock
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID

if TYPE_CHECKING:  # a node without peers reads no messages
    from network_app.wire.framing import PackedMessage
    from network_app.wire.p2p_pb2 import Message

T = TypeVar("T")

ANCESTOR_OVERHEAD = 4
"""Bytes added to the size of each block in an ancestors message (p2p.md 9)."""


@dataclass(frozen=True, slots=True)
class PeerInfo:
    """Facts about a connected peer, whose handshake is finished."""

    node_id: NodeID
    ip: str
    """host:port of the connection."""
    public_ip: str
    """host:port that the peer signed, at which it is dialled."""
    version: str
    """For example "avalanchego/1.14.2"."""
    upgrade_time: int
    connected_at: float
    """Unix seconds, wall time."""
    last_sent: float
    """Unix seconds, wall time."""
    last_received: float
    observed_uptime: int
    """This node's uptime as reported by the peer, in percent from 0 to 100."""
    tracked_subnets: tuple[ID, ...] = ()
    supported_acps: tuple[int, ...] = ()
    objected_acps: tuple[int, ...] = ()
    outbound: bool = False
    """Whether this node opened the connection."""
    known: bool = False
    """Whether the peer validates or is dialled by this node; otherwise it is an unknown peer."""


class NetworkTotals(NamedTuple):
    """Counters since the network started."""

    messages_sent: int
    messages_received: int
    bytes_sent: int
    bytes_received: int
    send_failures: int
    """Messages that could not be sent: queue full, or the connection broke."""
    last_sent: float | None
    """Unix seconds, wall time; None before the first."""
    last_received: float | None
    times_connected: int
    times_disconnected: int
    send_fail_rate: float
    """Share of failures among the latest sends (a running average), 0 to 1."""


class ValidatorInfo(NamedTuple):
    """A current validator of a subnet, such as the Primary Network."""

    weight: int
    public_key: bytes | None
    """Compressed BLS key."""


class Directory(Protocol):
    """The network's view of the validators, in memory; another component refreshes it."""

    def validators(self, subnet_id: ID = PRIMARY_NETWORK_ID) -> Mapping[NodeID, ValidatorInfo]:
        """Return the current validators of a subnet; empty for a subnet that validates none of the node's chains."""

    def uptime_of(self, node_id: NodeID) -> int:
        """Return the uptime to report to a peer, in percent from 0 to 100."""


class _AlreadyDone:
    """An awaitable that is already done."""

    def __await__(self) -> Generator[Any, Any, None]:
        yield from ()


DONE: Final[Awaitable[None]] = _AlreadyDone()
"""Result of work that completed synchronously."""


class MessageHandler(Protocol):
    """The layer above the connections. Its methods are called on the event loop."""

    def connected(self, peer: PeerInfo) -> None:
        """Note that a peer's handshake is finished."""

    def disconnected(self, node_id: NodeID) -> None:
        """Note that a peer has disconnected."""

    def handle(self, node_id: NodeID, message: "Message") -> Awaitable[None]:
        """Process a message of a chain.

        Return `DONE` if it was processed synchronously, else an awaitable. The message counts as in progress
        until that completes.
        """


class Network(Protocol):
    """The connections, as the higher layers see them."""

    @property
    def node_id(self) -> NodeID:
        """This node's ID."""

    def connected(self) -> Mapping[NodeID, PeerInfo]:
        """Return the peers whose handshake is finished."""

    def send(self, node_id: NodeID, message: "Message | PackedMessage") -> bool:
        """Queue a message; return False if the peer is not connected or its queue is full."""

    def totals(self) -> NetworkTotals:
        """Return the counters."""


# --- chains ---


class RunInThread(Protocol):
    """Runs a blocking call in a thread."""

    def __call__(self, work: Callable[..., T], /, *args: object) -> Awaitable[T]:
        """Call `work` and return its result, or raise its exception."""


class BlockRejection(InvalidBlock):
    """A block that this chain rejects, for the peers' side: the block, and the chain's reason as text.

    `spoiled` means that the reason is the signature, which is wrong or missing and which the block's ID does not
    cover. Other nodes may have the right signature, so these bytes do not contradict the acceptance of that ID.
    """

    def __init__(
        self, block_id: ID, height: int | None, reason: str, *, spoiled: bool = False
    ) -> None:
        super().__init__(f"block {block_id} at height {height}: {reason}")
        self.block_id: ID = block_id
        self.height = height
        self.reason = reason
        self.spoiled = spoiled


class NotYet(Exception):
    """A block cannot be verified yet, because its option or the P-Chain height that it names is missing."""


class PoolLimitReached(Exception):
    """A transaction may be accepted later, but now the pool, or its sender's part of it, is full."""


class BlockRef(NamedTuple):
    """Height and ID of a block in its chain."""

    height: int
    block_id: ID
    """ID of the outer block; for genesis, its own."""


class ParsedBlock(NamedTuple):
    """A parsed block from the network, not verified."""

    block_id: ID
    parent_id: ID
    height: int
    raw: bytes
    """The outer block's bytes."""
    needs_option: bool
    """Whether it is a proposal, which is accepted together with the option that follows it."""


@dataclass(frozen=True, slots=True)
class AcceptResult:
    """The result of passing blocks to a chain."""

    places: tuple[BlockRef, ...] = ()
    transactions: int = 0


class SignatureRefused(Exception):
    """A message that this node does not sign.

    Args:
        code: The code for the peer.
        words: The reason.
    """

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


Signer = Callable[[bytes], bytes]
"""Answers the request for the signature of a message; raises `SignatureRefused`. Blocking."""


class AskedPeers(Protocol):
    """The peers of a chain, which are asked for signatures."""

    def ask(self, payload: bytes, node_ids: Collection[NodeID]) -> Mapping[NodeID, bytes]:
        """Return the signatures of those nodes that answer a SignatureRequest. Blocking."""


ATOMIC_GOSSIP = 1
"""Handler ID of the gossip of atomic transactions (p2p.md 8)."""


class TransactionSource(Protocol):
    """A pool of pending transactions that nodes tell each other."""

    def waiting(self, limit: int) -> Sequence[ID]:
        """Return IDs of the newest pending transactions, newest last."""

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        """Return the bytes of pending transactions."""

    def transaction_id(self, raw: bytes) -> ID:
        """Return a transaction's ID."""

    def issue(self, raws: Sequence[bytes]) -> list[ID | Exception]:
        """Check transactions like the issue method and add them to the pool; return IDs or errors.

        The error is a `PoolLimitReached` if the transaction may be accepted later.
        """


class AcceptedChain(TransactionSource, Protocol):
    """One chain for the network. All blocks are outer blocks. The methods block, so they run in threads."""

    @property
    def alias(self) -> str:
        """The chain's name, such as P or C."""

    @property
    def chain_id(self) -> ID:
        """The chain ID used in messages."""

    def last_accepted(self) -> BlockRef:
        """Return the last accepted block."""

    def parse(self, raw: bytes) -> ParsedBlock:
        """Parse a block as far as its height, without reading the state.

        Raises:
            BlockRejection: The bytes are not a block.
        """

    def accepted_at(self, heights: Sequence[int]) -> list[ID | None]:
        """Return the accepted blocks at these heights."""

    def height_of(self, block_ids: Sequence[ID]) -> list[int | None]:
        """Return the heights of these blocks, None for those that are not accepted."""

    def block(self, block_id: ID) -> bytes | None:
        """Return an accepted block's bytes."""

    def ancestors(self, block_id: ID, *, count: int, size: int, seconds: float) -> list[bytes]:
        """Return an accepted block and its ancestors; empty if the block is unknown.

        Ends after `count` blocks, after `seconds`, or before the sum of (length + 4) exceeds `size`.
        """

    def accepted_since(self, height: int, count: int) -> list[tuple[BlockRef, bytes]]:
        """Return accepted blocks above a height, in order, for the producer to push."""

    def accept(self, raws: Sequence[bytes]) -> AcceptResult:
        """Verify, execute and accept past blocks in order; skip those already accepted.

        The caller must know that the network has accepted them. As many blocks as possible are committed;
        proposals only with their options.

        Raises:
            BlockRejection: A block is rejected; those before it are accepted.
            UnknownParent: The first is not the child of the last accepted block (`chainvm.errors`).
            HeadMoved: Another process has accepted a block in the meantime.
            NotYet: The next block cannot be verified yet; those before it are accepted.
        """

    # blocks fetched while bootstrapping; they survive a restart

    def keep_fetched(self, blocks: Sequence[ParsedBlock]) -> None:
        """Store fetched blocks."""

    def fetched(self, above: int, count: int) -> list[bytes]:
        """Return consecutive stored blocks above a height, lowest first."""

    def fetched_extent(self) -> tuple[BlockRef, ID] | None:
        """Return the lowest stored block and its parent's ID, where fetching resumes; None without blocks."""

    def fetched_bytes(self) -> int:
        """Return the total size of the stored blocks in bytes."""

    def forget_fetched(self, up_to: int | None = None) -> None:
        """Delete stored blocks up to a height, or all."""

    @property
    def more_transactions(self) -> Mapping[int, TransactionSource]:
        """The pools of the chain besides that of its usual transactions, by the number of their gossip handler."""

    def state_summary(self) -> bytes | None:
        """Return the summary of a state that a fresh peer may ask for; None: the chain has no summaries."""


class Gathering(NamedTuple):
    """The number of connected bootstrappers, while too few of them are connected to start."""

    connected: int
    needed: int
    configured: int

    @override
    def __str__(self) -> str:
        return (
            f"connected to {self.connected} of {self.configured} bootstrappers, "
            f"{self.needed} needed"
        )


class DialFailure(NamedTuple):
    """The reason why a bootstrapper is not connected."""

    address: str
    """The dialled host:port."""
    reason: str
    """One word for metrics: "clock", "network_id", "wrong_port", "tls" and so on."""
    message: str
    """The fault, and how to fix it."""
    clock_offset: int | None = None
    """Seconds by which this node's clock is ahead of the bootstrapper's, if that is the reason."""

    @override
    def __str__(self) -> str:
        return f"bootstrapper {self.address}: {self.message}"


class SyncState(NamedTuple):
    """A chain's progress, as stored by `NetworkReports.sync`."""

    bootstrapped: bool
    start_height: int = 0
    height: int = 0
    target_height: int = 0
    fetched: int = 0
    """Blocks stored and not yet executed."""
    outstanding: int = 0
    """Blocks received and not yet decided in normal operation."""
    oldest_outstanding: float | None = None
    """Unix seconds."""
    waiting: Gathering | None = None
    """Bootstrappers that the chain waits for before it starts."""
    obstacle: str | None = None
    """The reason why the chain cannot continue although the network has continued."""


class NetworkReports(Protocol):
    """Reports of the network process for other processes. The methods block, so they run in threads."""

    def peers(
        self,
        connected: Sequence[PeerInfo],
        totals: NetworkTotals,
        benched: Mapping[NodeID, Collection[str]],
        known: int,
        failures: Sequence[DialFailure] = (),
    ) -> None:
        """Store the connected peers and the bootstrappers that are not; other peers keep their last values."""

    def sync(self, alias: str, state: SyncState) -> None:
        """Store a chain's progress."""
