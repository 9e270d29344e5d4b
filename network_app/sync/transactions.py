"""Transaction gossip: pushes own transactions, accepts those of peers and forwards them once (p2p.md 8).

`pulling` finds the transactions that pushes have missed.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Sequence

from network_app.config import NetworkConfig
from network_app.gossip import KnownTransactions
from network_app.ports import Network, PoolLimitReached, TransactionSource
from network_app.sync.choosing import PeerSelection
from network_app.sync.last_accepted import LastAccepted
from network_app.sync.messages import TRANSACTION_GOSSIP, enclose, with_handler
from network_app.sync.tx_queue import FairQueue, ReceivedTransaction, Recently, in_messages
from network_app.wire.p2p_pb2 import AppGossip
from network_app.wire.sdk_pb2 import PushGossip
from primitives.bounded_cache import BoundedCache
from primitives.ids import ID, NodeID

PUSH_VALIDATORS = 100
"""Number of validators to which own new transactions are pushed."""
PUSH_AGAIN_VALIDATORS = 10
"""Number of validators for later pushes of pending transactions, and for forwarded ones of peers."""
SLOWEST_PUSH = 5
"""Push intervals between checks when there was nothing new, and before forwarding others' transactions.

A transaction that is in a block by then is not forwarded. If all peers know the producer, nothing is sent
twice."""
MAX_WAITING = 8192
"""Number of newest pending transactions that are considered."""
MAX_FOR_NEW_PEER = 512
"""Number of pending transactions pushed to a validator when it connects."""
BATCH = 256
REMEMBERED = 32_768


class Gossip:
    """Gossip of one chain's pending transactions.

    Args:
        last_accepted: The chain.
        network: Sends to peers.
        choice: Selects peers.
        config: Intervals and limits.
        clock: The monotonic time in seconds.
        source: The pool; None: that of the chain's usual transactions.
        handler: The number of the pool's gossip handler (p2p.md 8).
    """

    def __init__(
        self,
        last_accepted: LastAccepted,
        network: Network,
        choice: PeerSelection,
        config: NetworkConfig,
        clock: Callable[[], float] = time.monotonic,
        *,
        source: TransactionSource | None = None,
        handler: int = TRANSACTION_GOSSIP,
    ) -> None:
        self._last_accepted = last_accepted
        self._chain = last_accepted.chain
        self._source = self._chain if source is None else source
        self._handler = handler
        self._network = network
        self._choice = choice
        self._config = config
        self._clock = clock
        self.known = KnownTransactions()
        self._recently = Recently(config.push_again / 2)
        self._received = FairQueue()
        self._arrived = asyncio.Event()
        self._announced = asyncio.Event()
        self._scan = True
        self._issued: dict[ID, None] = {}
        """Own transactions that were announced and are not pushed yet."""
        self._pushed: BoundedCache[ID, float] = BoundedCache(REMEMBERED)
        """Own transactions with the time of their last push."""
        self._foreign: OrderedDict[ID, NodeID] = OrderedDict()
        """Transactions received from peers, with their senders.

        Not a `BoundedCache`: it may exceed its limit while transactions are issued, because those that the chain
        rejects must not evict others."""
        self._being_issued: Collection[ID] = ()
        self._passing_on: deque[tuple[float, ID]] = deque(maxlen=REMEMBERED)
        self._new_peers: set[NodeID] = set()

    # --- called by others

    def issued(self, tx_ids: Collection[ID] | None) -> None:
        """Note that this node has issued transactions; None: they must be looked up."""
        if not self._choice.connected():
            return
        if tx_ids is None or len(self._issued) > MAX_WAITING:
            self._scan = True
        else:
            self._issued.update(dict.fromkeys(tx_ids))
        self._announced.set()

    def look_again(self) -> None:
        """Look for unannounced transactions, and for those that have been pending for long."""
        if self._choice.connected():
            self._scan = True
            self._announced.set()

    def connected(self, node_id: NodeID) -> None:
        """Push the pending transactions to a new peer, if it is a validator."""
        self._new_peers.add(node_id)
        self.look_again()

    def disconnected(self, node_id: NodeID) -> None:
        """Forget a peer."""
        self._new_peers.discard(node_id)

    def add(self, raws: Iterable[bytes], sender: NodeID) -> None:
        """Queue transactions received from a peer."""
        if not self._last_accepted.following:
            return
        for raw in raws:
            self._received.add(raw, sender)
        self._arrived.set()

    # --- receiving

    async def take_in(self) -> None:
        """Pass received transactions to the chain until cancelled."""
        self._arrived.set()
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while arrivals := self._received.take(BATCH):
                now = self._clock()
                new = [arrival for arrival in arrivals if self._recently.is_new(arrival.raw, now)]
                if new:
                    await self._take_in(new)
                else:
                    await asyncio.sleep(0)

    async def _take_in(self, arrivals: Sequence[ReceivedTransaction]) -> None:
        raws = [arrival.raw for arrival in arrivals]
        tx_ids = await self._last_accepted.run(self._ids_of, raws)
        # Recorded first, so that the notice of their acceptance finds their senders.
        came = {
            tx_id: one.sender
            for tx_id, one in zip(tx_ids, arrivals, strict=True)
            if tx_id not in self._pushed and tx_id not in self._foreign
        }
        self._foreign.update(came)
        self._being_issued = came.keys()
        try:
            outcomes = await self._last_accepted.run(self._source.issue, raws)
        finally:
            self._being_issued = ()
        # A transaction rejected by a full pool may be accepted when it is pulled later.
        self.known.add(
            tx_id
            for tx_id, outcome in zip(tx_ids, outcomes, strict=True)
            if not isinstance(outcome, PoolLimitReached)
        )
        at = self._clock() + SLOWEST_PUSH * self._config.push_interval
        for tx_id, outcome in zip(tx_ids, outcomes, strict=True):
            if tx_id not in came:
                continue
            if isinstance(outcome, Exception):
                self._foreign.pop(tx_id, None)
            else:
                self._passing_on.append((at, tx_id))
        if self._passing_on:
            self._announced.set()
        while len(self._foreign) > REMEMBERED:
            self._foreign.popitem(last=False)

    def _ids_of(self, raws: Sequence[bytes]) -> list[ID]:
        return [self._source.transaction_id(raw) for raw in raws]

    # --- pushing

    async def push(self) -> None:
        """Push new transactions until cancelled: immediately at first, then at most once per interval."""
        self.look_again()  # handle transactions that an earlier, failed run did not push
        pause = self._config.push_interval
        while True:
            await self._announced.wait()
            self._announced.clear()
            found = False
            if self._last_accepted.following and self._choice.connected():
                found = await self._push_own() + await self._pass_on() > 0
            longest = SLOWEST_PUSH * self._config.push_interval
            pause = self._config.push_interval if found else min(2 * pause, longest)
            await asyncio.sleep(pause)
            if self._passing_on:
                self._announced.set()

    async def _push_own(self) -> int:
        """Push own transactions: new ones to the validators, old ones again to some of them."""
        new, old = list(self._issued), list[ID]()
        self._issued.clear()
        if self._scan:
            self._scan = False
            new, old = await self._look()
        new = [tx_id for tx_id in new if tx_id not in self._pushed and tx_id not in self._foreign]
        now = self._clock()
        for tx_id in (*new, *old):
            self._pushed.put(tx_id, now)
        self.known.add(new)
        await self._announce(new, self._audience(PUSH_VALIDATORS))
        await self._announce(old, self._audience(PUSH_AGAIN_VALIDATORS))
        return len(new)

    async def _look(self) -> tuple[list[ID], list[ID]]:
        """Return all pending transactions, and those pushed long ago; forget those not pending."""
        # Transactions being issued now may become pending only after this read.
        foreign = [other for other in self._foreign if other not in self._being_issued]
        waiting = await self._last_accepted.run(self._source.waiting, MAX_WAITING)
        long_ago = self._clock() - self._config.push_again
        old = [tx_id for tx_id in waiting if self._pushed.peek(tx_id, long_ago + 1) <= long_ago]
        if len(waiting) < MAX_WAITING:
            wait = set(waiting)
            for tx_id in [item for item in self._pushed if item not in wait]:
                self._pushed.pop(tx_id)
            for tx_id in foreign:
                if tx_id not in wait and tx_id not in self._being_issued:
                    self._foreign.pop(tx_id, None)
        if self.known.full:
            self.known.renew(waiting)
        new_peers, self._new_peers = self._new_peers, set()
        validators = self._choice.validators()
        audience = [node_id for node_id in validators if node_id in new_peers]
        if audience:
            await self._announce(waiting[-MAX_FOR_NEW_PEER:], audience)
        return list(waiting), old

    async def _pass_on(self) -> int:
        """Push pending transactions of peers, but not back to their senders."""
        now, due = self._clock(), list[ID]()
        while self._passing_on and self._passing_on[0][0] <= now:
            due.append(self._passing_on.popleft()[1])
        by_sender: dict[NodeID, list[ID]] = {}
        for tx_id in due:
            sender = self._foreign.get(tx_id)
            if sender is not None:
                by_sender.setdefault(sender, []).append(tx_id)
        for sender, tx_ids in by_sender.items():
            audience = self._audience(PUSH_AGAIN_VALIDATORS, besides=sender)
            await self._announce(tx_ids, audience)
        return len(due)

    def _audience(self, count: int, besides: NodeID | None = None) -> list[NodeID]:
        """Return the validators to push to and, if they are few, other peers too.

        Unspecified: the reference pushes to validators only. A producer need not be a validator here.
        """
        validators = [validator for validator in self._choice.validators() if validator != besides]
        if len(validators) > count:
            return self._choice.sample(validators, count)
        others = [
            node_id
            for node_id in self._choice.connected()
            if node_id != besides and node_id not in validators
        ]
        spare = max(0, PUSH_AGAIN_VALIDATORS - len(validators))
        return [*validators, *self._choice.sample(others, spare)]

    async def _announce(self, tx_ids: Sequence[ID], audience: Sequence[NodeID]) -> None:
        if not tx_ids or not audience:
            return
        for start in range(0, len(tx_ids), BATCH):
            found = await self._last_accepted.run(
                self._source.transactions, tx_ids[start : start + BATCH]
            )
            for raws in in_messages(raw for raw in found if raw is not None):
                payload = PushGossip(gossip=raws).SerializeToString()
                message = enclose(
                    AppGossip(
                        chain_id=bytes(self._chain.chain_id),
                        app_bytes=with_handler(self._handler, payload),
                    )
                )
                for node_id in audience:
                    self._network.send(node_id, message)
