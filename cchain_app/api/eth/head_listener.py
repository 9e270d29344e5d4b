"""Follow an EVM chain in a web process by its events, and notify the subscribers of `eth_subscribe`.

One task handles the events: it updates memory and sends notifications. Another checks the database each second, in
case events were lost or the channel layer was unavailable. Heads are sent in order, each once. A block is encoded once,
and matched once for all log subscriptions with the same filter. `jsonrpc.websocket.hub` has the subscriptions. Notifications
are sent on the event loop.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from typing import Any, Final

import msgspec

from cchain_app import notifications
from cchain_app.api import wire
from cchain_app.api.eth import logs as eth_logs
from cchain_app.api.eth.subscriptions import ACCEPTED, FULL, HEADS, LOGS, PENDING, RECEIPTS
from cchain_app.api.rendered import RenderedLogs
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.filters import LogFilter
from cchain_app.selectors import blocks, pool
from cchain_app.syncing import SyncProgress
from chaindb.connections import in_thread
from chaindb.events import Message
from chaindb.followers import Follower, directory_of
from jsonrpc.websocket.outbound import Subscription, notify
from primitives.evm import Hash

TICK: Final = 1.0
"""Seconds between checks of the database."""

TURNS_OF_ANSWER: Final = 3
"""Turns of the event loop from the thread that has produced an answer to the answer's socket. After so many turns a
client whose transaction went directly into a block usually has its answer before subscribers hear of the block."""

LOGS_AT_ONCE: Final = 20_000
"""Maximum number of logs of one block, counted for each filter, that a thread matches before it notifies their
subscribers."""

_encode: Final = msgspec.json.Encoder().encode
_log: Final = logging.getLogger(__name__)


class HeadListener:
    """The two tasks of one event loop; they run as long as the process.

    Args:
        rpc: The RPC interface whose chain is followed and whose subscribers are notified.
        progress: Reads how far the chain named is behind its network; None: it is not.
        look: Runs the periodic checks in a thread.
    """

    def __init__(
        self,
        rpc: EvmRpc,
        progress: Callable[[str], SyncProgress | None],
        look: Callable[..., Awaitable[Any]] = in_thread,
    ) -> None:
        self.rpc = rpc
        self._progress = progress
        self._look = look
        self._tasks: list[asyncio.Task[None]] = []
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._unbind: Callable[[], None] | None = None
        self._follower = Follower(directory_of(rpc.chain.node.directory))

    def start(self) -> None:
        """Begin to follow, on the running event loop; a second call does nothing."""
        if self._tasks:
            return
        loop = asyncio.get_running_loop()
        chain = self.rpc.chain
        self._unbind = chain.events.bind(loop, self._inbox.put_nowait, [chain.name])
        self._follower.begin()
        self._tasks = [loop.create_task(self._listen()), loop.create_task(self._tick())]

    async def stop(self) -> None:
        """End both tasks."""
        if self._unbind is not None:
            self._unbind()
            self.rpc.chain.progress = None
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        self._follower.end()

    async def _listen(self) -> None:
        while True:
            message = await self._inbox.get()
            try:
                await self._handle(message)
            except Exception:  # whatever it is, following continues
                _log.exception("an event could not be processed; the periodic check continues")

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                await self._notice(await self._look(blocks.catch_up, self.rpc.chain, 0))
                if self.rpc.chain.node.bootstrap:
                    self.rpc.chain.progress = await self._look(self._progress, self.rpc.chain.name)
            except blocks.NoGenesis:
                continue
            except Exception:  # as above
                _log.exception("the head could not be read")

    async def _handle(self, message: Message) -> None:
        if message["type"] == notifications.PENDING:
            self.rpc.chain.memory.pool.note_event()
            await pending_transactions(self.rpc, message["hashes"])
        elif message["type"] == notifications.HEAD:
            await self._handle_head(message)
        elif message["type"] == notifications.REWOUND:
            self.rpc.heads.go_back(message["number"])
            await in_thread(blocks.catch_up, self.rpc.chain)

    async def _handle_head(self, message: Message) -> None:
        known = self.rpc.chain.memory.blocks.head
        if known is None or known.number < message["number"]:
            await self._reach_head(message["number"])
        else:
            for _ in range(TURNS_OF_ANSWER):
                await asyncio.sleep(0)
            await head_accepted(self.rpc, message["number"])

    async def _reach_head(self, announced: int) -> None:
        await self._notice(await in_thread(blocks.catch_up, self.rpc.chain, announced))

    async def _notice(self, head: AcceptedBlock) -> None:
        self._follower.note(self.rpc.chain.memory.generation)
        await head_accepted(self.rpc, head.number)


async def head_accepted(rpc: EvmRpc, number: int) -> None:
    """Send every head from the last one that was sent up to this height, in order."""
    heads, head = rpc.heads, rpc.chain.memory.blocks.head
    if head is not None:
        heads.go_back(head.number)
    with closing(heads.due(number)) as due:
        for height in due:
            if not await _send_head(rpc, height):
                return
            await asyncio.sleep(0)


async def pending_transactions(rpc: EvmRpc, hashes: Sequence[bytes]) -> None:
    """Send new pending transactions: their hashes, and whole transactions to the subscribers that asked for them."""
    subscriptions = rpc.hub.subscriptions
    if subscriptions(PENDING):
        for item in hashes:
            await notify(subscriptions(PENDING), [_encode(wire.hexed(item))])
    if subscriptions(PENDING + FULL):
        for transaction in await in_thread(_whole, rpc, [Hash(item) for item in hashes]):
            await notify(subscriptions(PENDING + FULL), [_encode(transaction)])


def _whole(rpc: EvmRpc, hashes: Sequence[Hash]) -> list[wire.Json]:
    """Return transactions of the pool; those that are in a block now are returned as they were before."""
    waiting = pool.transactions(rpc.chain, hashes)
    found = []
    for block_hash in hashes:
        known = waiting.get(block_hash) or pool.find(rpc.chain, block_hash)
        if isinstance(known, tuple):
            known = known[0].transactions[known[1]]
        if known is not None:
            found.append(rpc.pool_transaction(known))
    return found


async def _send_head(rpc: EvmRpc, number: int) -> bool:
    """Send all notifications of a block; return whether the chain has a block at that height yet."""
    block = await _load(rpc, number)
    if block is None:
        return False
    await _send(rpc, block)
    return True


async def _load(rpc: EvmRpc, number: int) -> AcceptedBlock | None:
    """Return a block from memory or, in a thread, from the database; None if it does not exist yet."""
    found = rpc.chain.memory.blocks.by_number(number)
    if found is not None:
        return found
    return await in_thread(blocks.by_number, rpc.chain, number)


async def _send(rpc: EvmRpc, block: AcceptedBlock) -> None:
    """Send all notifications of a block to its subscribers."""
    kept = rpc.rendered.of(block)
    if members := rpc.hub.subscriptions(HEADS):
        await notify(members, [bytes(kept.header())])
    await _send_logs(rpc, block)
    await _send_receipts(rpc, block)
    for index, transaction in enumerate(block.transactions):
        if members := rpc.hub.subscriptions(ACCEPTED):
            await notify(members, [_encode(wire.hexed(transaction.hash))])
        if members := rpc.hub.subscriptions(ACCEPTED + FULL):
            await notify(members, [bytes(kept.transaction(index))])


async def _send_logs(rpc: EvmRpc, block: AcceptedBlock) -> None:
    """Send each subscription its matching logs; equal filters are matched once.

    Large numbers of logs are matched in a thread, some filters at a time.
    """
    groups = _by_filter(rpc.hub.subscriptions(LOGS))
    logs = sum(len(receipt.logs) for receipt in block.receipts)
    if logs * len(groups) <= rpc.rendered.renderer.on_event_loop:
        for log_filter, members in groups.items():
            await _send_matches(rpc, members, eth_logs.matching(rpc, block, log_filter))
        return
    waiting = list(groups)
    at_once = max(1, LOGS_AT_ONCE // logs)
    for start in range(0, len(waiting), at_once):
        some = waiting[start : start + at_once]
        found = await in_thread(_match_each, rpc, block, some)
        for log_filter, matches in zip(some, found, strict=True):
            await _send_matches(rpc, groups[log_filter], matches)


async def _send_receipts(rpc: EvmRpc, block: AcceptedBlock) -> None:
    """Send each subscription the receipts of its transactions; one notification has all receipts of a block.

    A thread groups the subscriptions and renders the receipts, because a block or the connections may have many.
    """
    subscriptions = rpc.hub.subscriptions(RECEIPTS)
    if subscriptions and block.transactions:
        for members, receipts in await in_thread(_receipts_for, rpc, block, subscriptions):
            await notify(members, [receipts])


def _receipts_for(
    rpc: EvmRpc, block: AcceptedBlock, subscriptions: Sequence[Subscription]
) -> list[tuple[list[Subscription], bytes]]:
    """Return groups of subscriptions, each with its receipts of a block as an encoded list."""
    hashes = frozenset(transaction.hash for transaction in block.transactions)
    groups: defaultdict[frozenset[Hash], list[Subscription]] = defaultdict(list)
    for subscription in subscriptions:
        assert isinstance(subscription.payload, frozenset)
        wanted = subscription.payload & hashes if subscription.payload else hashes
        if wanted:
            groups[wanted].append(subscription)
    kept = rpc.rendered.of(block)
    return [
        (
            members,
            _encode(
                [kept.receipt(i) for i, one in enumerate(block.transactions) if one.hash in wanted]
            ),
        )
        for wanted, members in groups.items()
    ]


def _by_filter(subscriptions: Sequence[Subscription]) -> dict[LogFilter, list[Subscription]]:
    """Return log subscriptions grouped by their filter."""
    groups: defaultdict[LogFilter, list[Subscription]] = defaultdict(list)
    for subscription in subscriptions:
        assert isinstance(subscription.payload, LogFilter)
        groups[subscription.payload].append(subscription)
    return groups


def _match_each(
    rpc: EvmRpc, block: AcceptedBlock, filters: Sequence[LogFilter]
) -> list[RenderedLogs]:
    return [eth_logs.matching(rpc, block, item) for item in filters]


async def _send_matches(rpc: EvmRpc, members: Sequence[Subscription], found: RenderedLogs) -> None:
    await notify(members, found.texts())
