"""Transaction pulls: validators ask each other for transactions that they do not know (p2p.md 8).

Also the answers to the application requests of peers: transaction pulls, and the genesis of the network.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from google.protobuf.message import DecodeError

from network_app.bloom import BloomError, BloomFilter
from network_app.config import NetworkConfig
from network_app.gossip import KnownTransactions
from network_app.ports import (
    Directory,
    RunInThread,
    SignatureRefused,
    Signer,
    TransactionSource,
)
from network_app.sync.choosing import PeerSelection
from network_app.sync.last_accepted import LastAccepted
from network_app.sync.messages import (
    GENESIS,
    NOT_A_VALIDATOR,
    NOT_REGISTERED,
    SIGNATURE_REQUEST,
    THROTTLED,
    TRANSACTION_GOSSIP,
    UNEXPECTED,
    split_handler,
    transactions_in,
    with_handler,
)
from network_app.sync.requests import Requests
from network_app.sync.transactions import Gossip
from network_app.wire.errors import UnreadableContent
from network_app.wire.node_pb2 import GenesisAnswer
from network_app.wire.p2p_pb2 import AppError, AppRequest, AppResponse
from network_app.wire.sdk_pb2 import PullGossipRequest, PullGossipResponse
from primitives.bounded_cache import BoundedCache
from primitives.ids import ID, NodeID

HOUR = 3600.0
MAX_WAITING = 4096
"""Number of newest pending transactions considered for an answer."""
CHUNK = 64
"""Number of transactions read at a time."""
MAX_PULLERS = 1024


class HourlyLimit:
    """Counts requests per peer over a sliding hour: this hour's, plus a share of the last hour's. Pure."""

    def __init__(self, limit: int, capacity: int = MAX_PULLERS) -> None:
        self._limit = limit
        self._counts: BoundedCache[NodeID, tuple[int, int, int]] = BoundedCache(capacity)

    def __len__(self) -> int:
        return len(self._counts)

    def allows(self, node_id: NodeID, now: float) -> bool:
        """Count a request and return True if it is within the limit."""
        hour, passed = int(now // HOUR), now % HOUR / HOUR
        counted_in, before, count = self._counts.peek(node_id, (hour, 0, 0))
        if counted_in != hour:
            before, count = (count if counted_in == hour - 1 else 0), 0
        allowed = before * (1 - passed) + count < self._limit
        self._counts.put_newest(node_id, (hour, before, count + allowed))
        return allowed


class Pulling:
    """Sends and answers the pulls of one chain."""

    def __init__(
        self,
        last_accepted: LastAccepted,
        gossip: Gossip,
        requests: Requests,
        choice: PeerSelection,
        config: NetworkConfig,
        *,
        directory: Directory,
        own: NodeID,
        serve: RunInThread,
        clock: Callable[[], float] = time.monotonic,
        source: TransactionSource | None = None,
        handler: int = TRANSACTION_GOSSIP,
    ) -> None:
        self._last_accepted = last_accepted
        self._source = last_accepted.chain if source is None else source
        self._handler = handler
        self._gossip = gossip
        self._requests = requests
        self._choice = choice
        self._directory = directory
        self._own = own
        self._serve = serve
        self._config = config
        self._clock = clock
        self._limit = HourlyLimit(config.pulls_per_hour)

    async def run(self) -> None:
        """Pull from one validator after another until cancelled; only validators may pull."""
        while True:
            await asyncio.sleep(self._config.pull_interval)
            if not self._last_accepted.following:
                continue
            self._gossip.look_again()
            validators = self._choice.in_order(
                self._last_accepted.chain.alias, self._choice.validators()
            )
            if validators and self._own in self._directory.validators():
                await self._pull(validators[0])

    async def _pull(self, node_id: NodeID) -> None:
        known, salt = self._gossip.known.marshal()
        payload = PullGossipRequest(filter=known, salt=salt).SerializeToString()
        request = AppRequest(app_bytes=with_handler(self._handler, payload))
        answer = await self._requests.ask(node_id, request, AppResponse)
        if answer is None:
            return
        try:
            pulled = transactions_in(answer.app_bytes, PullGossipResponse)
        except UnreadableContent:
            reason = "sent transactions that are no message"
            self._choice.set_aside(node_id, self._last_accepted.chain.alias, reason)
            return
        self._gossip.add(pulled, node_id)

    async def answer(self, node_id: NodeID, payload: bytes) -> AppResponse | AppError:
        """Answer a pull with pending transactions that are missing in the peer's filter."""
        if node_id not in self._directory.validators():
            return AppError(error_code=NOT_A_VALIDATOR, error_message="not a validator")
        if not self._limit.allows(node_id, self._clock()):
            return AppError(error_code=THROTTLED, error_message="throttled")
        try:
            request = PullGossipRequest.FromString(payload)
            known = BloomFilter.parse(request.filter, request.salt)
        except (DecodeError, BloomError) as error:
            return AppError(error_code=UNEXPECTED, error_message=str(error))
        missing = await self._serve(self._missing_from, known)
        return AppResponse(app_bytes=PullGossipResponse(gossip=missing).SerializeToString())

    def _missing_from(self, known: BloomFilter) -> list[bytes]:
        """Return the missing transactions. Blocking: call it in a thread."""
        return KnownTransactions.missing_from(known, self._waiting(), self._config.pull_size)

    def _waiting(self) -> Iterator[tuple[ID, bytes]]:
        tx_ids = self._source.waiting(MAX_WAITING)
        for start in range(0, len(tx_ids), CHUNK):
            chunk = tx_ids[start : start + CHUNK]
            for tx_id, raw in zip(chunk, self._source.transactions(chunk), strict=True):
                if raw is not None:
                    yield tx_id, raw


Told: TypeAlias = AppResponse | AppError


class GenesisBytes(NamedTuple):
    """The network's genesis, for nodes that join it."""

    platform: bytes
    cchain: bytes
    """A genesis file, JSON."""
    producer: str = ""
    """Node ID of the block producer; "all" if the validators vote."""


class GenesisTeller:
    """Answers requests for the genesis, which never changes and is therefore read only once.

    Args:
        read: Reads the genesis. Blocking.
        serve: Runs a blocking call in a thread.
    """

    def __init__(self, read: Callable[[], GenesisBytes], serve: RunInThread) -> None:
        self._read = read
        self._serve = serve
        self._served: bytes | None = None
        self._reading = asyncio.Lock()

    async def answer(self) -> AppResponse:
        """Return the answer with the genesis."""
        async with self._reading:
            if self._served is None:
                self._served = await self._serve(self._make)
        return AppResponse(app_bytes=self._served)

    def _make(self) -> bytes:
        files = self._read()
        return GenesisAnswer(
            platform=files.platform, cchain=files.cchain, producer=files.producer
        ).SerializeToString()


async def answer(
    pulls: Mapping[int, Pulling],
    node_id: NodeID,
    app_bytes: bytes,
    *,
    genesis: GenesisTeller | None,
    signer: Signer | None,
    serve: RunInThread,
) -> Told:
    """Answer a peer's application request.

    Args:
        pulls: Transaction pulls of the requested chain, by the number of their handler.
        node_id: The peer.
        app_bytes: The handler's number and the request.
        genesis: Answers requests for the genesis; None on chains that do not serve it.
        signer: Answers requests for signatures; None on chains that sign nothing.
        serve: Runs a blocking call in a thread.
    """
    handler, payload = split_handler(app_bytes) or (None, b"")
    pulling = None if handler is None else pulls.get(handler)
    if pulling is not None:
        return await pulling.answer(node_id, payload)
    if handler == GENESIS and genesis is not None:
        return await genesis.answer()
    if handler == SIGNATURE_REQUEST and signer is not None:
        return await _signed(signer, serve, payload)
    return AppError(error_code=NOT_REGISTERED, error_message="unregistered handler")


async def _signed(signer: Signer, serve: RunInThread, payload: bytes) -> Told:
    """Answer a request for the signature of a message; any peer may ask."""
    try:
        return AppResponse(app_bytes=await serve(signer, payload))
    except SignatureRefused as error:
        return AppError(error_code=error.code, error_message=str(error))
