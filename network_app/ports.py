"""Who asks whom for what in the network's process: the seams between its rooms. Pure.

`peers.network.Network` is the `PeerNetwork`; `sync.router.ChainRouter` is the `MessageHandler` above it,
and drives a `AcceptedChain` for each chain, which `chains` make of Django's services and rows. All methods of
`AcceptedChain` and `Records` are blocking and are called in a thread; those of the others on the event loop.
"""

from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from typing_extensions import override

from network_app.wire.framing import Packed
from network_app.wire.p2p_pb2 import Message
from primitives.ids import ID, NodeID

T = TypeVar("T")

ANCESTOR_OVERHEAD = 4
"""Bytes that ancestors are reckoned with besides each block's own (p2p.md 9)."""


@dataclass(frozen=True, slots=True)
class PeerInfo:
    """What is known of a connected peer (its handshake is finished)."""

    node_id: NodeID
    ip: str
    """host:port of the connection."""
    public_ip: str
    """host:port that it signed; it is dialled there."""
    version: str
    """"avalanchego/1.14.2"."""
    upgrade_time: int
    connected_at: float
    """Unix seconds, wall time."""
    last_sent: float
    """Unix seconds, wall time."""
    last_received: float
    observed_uptime: int
    """Percent, 0 to 100: what it says of us."""
    tracked_subnets: tuple[ID, ...] = ()
    supported_acps: tuple[int, ...] = ()
    objected_acps: tuple[int, ...] = ()
    outbound: bool = False
    """Whether we dialled."""
    known: bool = False
    """Whether it validates, or is one that we dial: no stranger."""


class Totals(NamedTuple):
    """Counters since the network began."""

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


class ValidatorFacts(NamedTuple):
    """A current validator of the Primary Network."""

    weight: int
    public_key: bytes | None
    """Compressed BLS key."""


class Directory(Protocol):
    """What the network knows of the validators, in memory; somebody else keeps it fresh."""

    def validators(self) -> Mapping[NodeID, ValidatorFacts]:
        """Return the current validators of the Primary Network."""

    def uptime_of(self, node_id: NodeID) -> int:
        """Return what we tell a peer of its uptime: percent, 0 to 100."""


class _Done:
    """What is over already: to wait for it takes no time."""

    def __await__(self) -> Generator[Any, Any, None]:
        yield from ()


DONE: Final[Awaitable[None]] = _Done()
"""Work that was done at once."""


class MessageHandler(Protocol):
    """What sits above the connections. Called on the event loop."""

    def connected(self, peer: PeerInfo) -> None:
        """Note that a peer's handshake is finished."""

    def disconnected(self, node_id: NodeID) -> None:
        """Note that a connected peer is gone."""

    def handle(self, node_id: NodeID, message: Message) -> Awaitable[None]:
        """Work a chain's message off: at once, which is `DONE`, or as long as what is returned takes.

        So long the message counts as unprocessed.
        """


class PeerNetwork(Protocol):
    """The connections, as the rooms above see them."""

    @property
    def node_id(self) -> NodeID:
        """This node."""

    def connected(self) -> Mapping[NodeID, PeerInfo]:
        """Return the peers whose handshake is finished."""

    def send(self, node_id: NodeID, message: Message | Packed) -> bool:
        """Queue a message; False when the peer is not there or its queue is full."""

    def totals(self) -> Totals:
        """Return the counters."""


# --- chains ---


class RunInThread(Protocol):
    """How a blocking call gets to a thread."""

    def __call__(self, work: Callable[..., T], /, *args: object) -> Awaitable[T]:
        """Call `work` and return, or raise, what it does."""


class InvalidBlock(Exception):
    """A block that this chain refuses; the message says why.

    `spoiled` says that it is for what the block's ID does not cover, its signature, which is wrong or
    missing: others may have it right, and the bytes say nothing of what was accepted under that ID.
    """

    def __init__(
        self, block_id: ID, height: int | None, reason: str, *, spoiled: bool = False
    ) -> None:
        super().__init__(f"block {block_id} at height {height}: {reason}")
        self.block_id = block_id
        self.height = height
        self.reason = reason
        self.spoiled = spoiled


class NotYet(Exception):
    """A block cannot be judged yet: its option, or the P-Chain height that it names, is missing."""


class NoRoom(Exception):
    """A transaction that is not taken in now and may be later: the pool is full, or its sender's part."""


class BlockRef(NamedTuple):
    """Where a block stands in its chain."""

    height: int
    block_id: ID
    """Of the outer block; of genesis its own."""


class ParsedBlock(NamedTuple):
    """A block as it came over the wire, not verified."""

    block_id: ID
    parent_id: ID
    height: int
    raw: bytes
    """The outer block's bytes."""
    needs_option: bool
    """It is a proposal: it is accepted together with the option that follows it."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of blocks that were handed to a chain."""

    places: tuple[BlockRef, ...] = ()
    transactions: int = 0


class AcceptedChain(Protocol):
    """One chain as the network needs it. Blocks are outer blocks. Blocking: for threads."""

    @property
    def alias(self) -> str:
        """P or C."""

    @property
    def chain_id(self) -> ID:
        """By which messages name it."""

    def last_accepted(self) -> BlockRef:
        """Return the last accepted block."""

    def parse(self, raw: bytes) -> ParsedBlock:
        """Read a block as far as its place goes, without looking at the state.

        Raises:
            InvalidBlock: It is none.
        """

    def accepted_at(self, heights: Sequence[int]) -> list[ID | None]:
        """Return the accepted blocks at these heights."""

    def height_of(self, block_ids: Sequence[ID]) -> list[int | None]:
        """Return the heights of those of these blocks that are accepted."""

    def block(self, block_id: ID) -> bytes | None:
        """Return an accepted block's bytes."""

    def ancestors(self, block_id: ID, *, count: int, size: int, seconds: float) -> list[bytes]:
        """Return an accepted block and those before it; empty when it is unknown.

        Ends after `count` blocks, before the sum of (length + 4) passes `size`, after `seconds`.
        """

    def accepted_since(self, height: int, count: int) -> list[tuple[BlockRef, bytes]]:
        """Return accepted blocks above a height, in order: what a producer pushes."""

    def accept(self, raws: Sequence[bytes]) -> Accepted:
        """Verify, execute and accept blocks of the past in order; accepted ones are passed over.

        That the network has accepted them the caller knows. All that can be are committed; proposals only
        with their options.

        Raises:
            InvalidBlock: One is refused; those before it are accepted.
            UnknownParent: The first does not follow the last accepted block (`chainvm.processing`).
            HeadMoved: Another process has accepted a block meanwhile.
            NotYet: The next one cannot be judged yet; those before it are accepted.
        """

    # blocks fetched while bootstrapping; they survive a restart

    def keep_fetched(self, blocks: Sequence[ParsedBlock]) -> None:
        """Store fetched blocks."""

    def fetched(self, above: int, count: int) -> list[bytes]:
        """Return stored blocks above a height that follow each other without a gap, lowest first."""

    def fetched_extent(self) -> tuple[BlockRef, ID] | None:
        """Return the lowest stored block and its parent, or None: where fetching goes on."""

    def fetched_bytes(self) -> int:
        """Return how many bytes the stored blocks have together."""

    def forget_fetched(self, up_to: int | None = None) -> None:
        """Delete stored blocks up to a height, or all."""

    # transactions

    def waiting(self, limit: int) -> Sequence[ID]:
        """Return IDs of the newest transactions that wait, newest last."""

    def transactions(self, tx_ids: Sequence[ID]) -> list[bytes | None]:
        """Return waiting transactions' bytes."""

    def transaction_id(self, raw: bytes) -> ID:
        """Return the ID by which a transaction is known."""

    def issue(self, raws: Sequence[bytes]) -> list[ID | Exception]:
        """Check transactions as their issue method does and take them in, or say why not.

        What may be taken in later is a `NoRoom`.
        """


class Gathering(NamedTuple):
    """Bootstrappers, as long as too few of them are connected to begin."""

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
    """Why a bootstrapper is not connected."""

    address: str
    """host:port as it is dialled."""
    reason: str
    """One word for metrics: "clock", "network_id", "wrong_port", "tls" and so on."""
    message: str
    """The fault, and how to correct it."""
    clock_offset: int | None = None
    """Seconds by which this node's clock is ahead of the bootstrapper's, if it was refused for that."""

    @override
    def __str__(self) -> str:
        return f"bootstrapper {self.address}: {self.message}"


class SyncState(NamedTuple):
    """How far a chain is; what `Records.sync` stores."""

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
    """For whom it waits before it begins."""
    obstacle: str | None = None
    """What keeps it from going on where the network has gone on."""


class Records(Protocol):
    """What the network's process writes down for the others. Blocking: for threads."""

    def peers(
        self,
        connected: Sequence[PeerInfo],
        totals: Totals,
        benched: Mapping[NodeID, Collection[str]],
        known: int,
        failures: Sequence[DialFailure] = (),
    ) -> None:
        """Store who is connected now, and which bootstrappers are not; peers that are gone keep their last values."""

    def sync(self, alias: str, state: SyncState) -> None:
        """Store how far a chain is."""
