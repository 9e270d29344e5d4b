"""eth_subscribe: who listens to heads, logs and transactions, and what is sent to them.

Pointers come in, a number and a hash, some of them never; heads go out in order, each once. A
block is encoded once, and matched once for all log subscriptions with the same filter. Sockets
belong to `jsonrpc.hub`. Sending happens on the event loop of a web process.
"""

import asyncio
import math
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Final

import msgspec

from cchain_app.api import eth_logs, params, params_logs, wire
from cchain_app.api.errors import server_error
from cchain_app.api.rendered import rendered
from cchain_app.apps import evm_chain
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.filters import LogFilter
from cchain_app.selectors import blocks, pool
from chaindb.connections import in_thread
from jsonrpc.errors import METHOD_NOT_FOUND, InvalidParam, JsonRpcError, invalid_params
from jsonrpc.hub import Exchange, Hub, HubLimits, Subscription
from primitives.evm import Hash

HEADS: Final = "newHeads"
LOGS: Final = "logs"
PENDING: Final = "newPendingTransactions"
ACCEPTED: Final = "newAcceptedTransactions"
SYNCING: Final = "syncing"

LOGS_ON_EVENT_LOOP: Final = 500
"""More logs of one block are rendered in a thread."""

FULL: Final = ":full"
"""What the topic of whole transactions has at its end; without it they are hashes."""

_encode: Final = msgspec.json.Encoder().encode


@cache
def hub() -> Hub:
    """Return the listeners of this process."""
    node = evm_chain().node
    of_client = math.ceil(node.ws_connections * 3 / 4)  # so that nobody alone keeps all others out
    return Hub(HubLimits(node.ws_connections, node.ws_subscriptions, of_client))


def subscribe(exchange: Exchange, kind: object, argument: object) -> str:
    """eth_subscribe: listen to a kind of event; returns the ID of the subscription.

    Raises:
        JsonRpcError: -32601, there is no such kind; -32602, its argument cannot be read.
    """
    if not isinstance(kind, str):
        raise invalid_params("expected subscription name as first argument")
    if kind not in {HEADS, LOGS, PENDING, ACCEPTED, SYNCING}:
        raise JsonRpcError(METHOD_NOT_FOUND, f'no "{kind[:200]}" subscription in eth namespace')
    try:
        topic, payload = _topic(kind, argument)
    except InvalidParam as error:
        raise invalid_params(f"invalid argument 1: {error.text}") from error
    _heads.begin_at(blocks.head(evm_chain()).number)
    return exchange.subscribe(topic, payload)


def unsubscribe(exchange: Exchange, identifier: str) -> bool:
    """eth_unsubscribe: stop listening.

    Raises:
        JsonRpcError: -32000, this connection has no such subscription.
    """
    if not exchange.unsubscribe(identifier):
        raise server_error("subscription not found")
    return True


def _topic(kind: str, argument: object) -> tuple[str, LogFilter | None]:
    """Return the topic of a subscription, and what its logs must match."""
    if kind == LOGS:
        if argument is None:
            raise invalid_params("missing value for required argument 1")
        return LOGS, params_logs.log_criteria(argument).log_filter
    if kind in {PENDING, ACCEPTED}:
        full = argument is not None and params.boolean(argument)
        return (kind + FULL if full else kind), None
    if argument is not None:
        raise invalid_params("too many arguments, want at most 1")
    return kind, None


async def head_accepted(number: int, block_hash: bytes) -> None:
    """Send every head from the last one that was sent up to this height, in order.

    The hash is part of the pointer and not needed: accepted blocks do not fork.
    """
    await _heads.reach(number)


async def pending_transactions(hashes: Sequence[bytes]) -> None:
    """Send transactions that became executable: their hashes, and whole where that was asked for."""
    listeners = hub()
    if listeners.subscriptions(PENDING):
        for one in hashes:
            listeners.publish(PENDING, _encode(wire.hexed(one)))
    if listeners.subscriptions(PENDING + FULL):
        for found in await in_thread(_whole, [Hash(one) for one in hashes]):
            listeners.publish(PENDING + FULL, _encode(found))


def _whole(hashes: Sequence[Hash]) -> list[wire.Json]:
    """Return transactions of the pool; those that are in a block by now as they were before."""
    waiting = pool.transactions(evm_chain(), hashes)
    found = []
    for one in hashes:
        known = waiting.get(one) or pool.find(evm_chain(), one)
        if isinstance(known, tuple):
            known = known[0].transactions[known[1]]
        if known is not None:
            found.append(wire.waiting_transaction(known))
    return found


class Heads:
    """How far the heads were sent. Used on one event loop."""

    def __init__(self) -> None:
        self._sent: int | None = None
        self._target = -1
        self._sending = False

    def begin_at(self, number: int) -> None:
        """Take note of the head at the first subscription: what follows it will be sent."""
        if self._sent is None:
            self._sent = number

    async def reach(self, number: int) -> None:
        """Send what is missing up to a height; returns at once when that is happening already."""
        if self._sent is None:
            return  # nobody has ever listened
        self._follow_back()
        self._target = max(self._target, number)
        if self._sending:
            return
        self._sending = True
        try:
            while self._sent < self._target:
                block = await _load(self._sent + 1)
                if block is None:
                    self._target = self._sent
                    return
                await _prepare(block)
                _send(block)
                self._sent += 1
                await asyncio.sleep(0)
        finally:
            self._sending = False

    def _follow_back(self) -> None:
        """Go back with a chain that was reset to an earlier height; nothing is sent for that."""
        head = evm_chain().memory.blocks.head
        if head is not None and self._sent is not None and head.number < self._sent:
            self._sent = self._target = head.number


_heads: Final = Heads()


async def _load(number: int) -> AcceptedBlock | None:
    """Return a block, from memory or by a thread; None when there is none yet."""
    found = evm_chain().memory.blocks.by_number(number)
    if found is not None:
        return found
    return await in_thread(blocks.by_number, evm_chain(), number)


async def _prepare(block: AcceptedBlock) -> None:
    """Render the logs of a large block in a thread, where they hold nobody up."""
    many = sum(len(receipt.logs) for receipt in block.receipts) > LOGS_ON_EVENT_LOOP
    if many and hub().subscriptions(LOGS):
        await in_thread(lambda: [rendered(block).logs(i) for i in range(len(block.receipts))])


def _send(block: AcceptedBlock) -> None:
    """Send all that a block means to those who listen."""
    listeners = hub()
    kept = rendered(block)
    if listeners.subscriptions(HEADS):
        listeners.publish(HEADS, bytes(kept.header()))
    _send_logs(block, listeners.subscriptions(LOGS))
    for index, transaction in enumerate(block.transactions):
        if listeners.subscriptions(ACCEPTED):
            listeners.publish(ACCEPTED, _encode(wire.hexed(transaction.hash)))
        if listeners.subscriptions(ACCEPTED + FULL):
            listeners.publish(ACCEPTED + FULL, bytes(kept.transaction(index)))


def _send_logs(block: AcceptedBlock, subscriptions: Sequence[Subscription]) -> None:
    """Send each subscription the logs that it wants; equal filters are matched once."""
    groups: defaultdict[LogFilter, list[Subscription]] = defaultdict(list)
    for subscription in subscriptions:
        assert isinstance(subscription.payload, LogFilter)
        groups[subscription.payload].append(subscription)
    for log_filter, members in groups.items():
        texts = eth_logs.matching(block, log_filter).texts
        for member in members:
            for text in texts:
                hub().send(member, bytes(text))
