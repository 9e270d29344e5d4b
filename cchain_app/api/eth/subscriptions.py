"""eth_subscribe: subscriptions to heads, logs and transactions, and their notifications.

Announcements of heads contain a number and a hash, and some are lost; heads are sent in order, each once. A
block is encoded once, and matched once for all log subscriptions with the same filter. `jsonrpc.websocket.hub` has the
sockets. Notifications are sent on the event loop of a web process.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from typing import Final

import msgspec

from cchain_app.api import wire
from cchain_app.api.errors import server_error
from cchain_app.api.eth import logs as eth_logs
from cchain_app.api.params import logs as params_logs
from cchain_app.api.params import values as params
from cchain_app.api.rendered import RenderedLogs
from cchain_app.api.rpc import EvmRpc
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.filters import LogFilter
from cchain_app.selectors import blocks, pool
from chaindb.connections import in_thread
from jsonrpc.errors import METHOD_NOT_FOUND, InvalidParam, JsonRpcError, invalid_params
from jsonrpc.websocket.hub import SocketExchange, Subscription
from primitives.evm import Hash

HEADS: Final = "newHeads"
LOGS: Final = "logs"
PENDING: Final = "newPendingTransactions"
ACCEPTED: Final = "newAcceptedTransactions"
SYNCING: Final = "syncing"
RECEIPTS: Final = "transactionReceipts"

MAX_HASHES: Final = 200
"""Maximum number of transaction hashes of one subscription to receipts, as in geth."""

LOGS_AT_ONCE: Final = 20_000
"""Maximum number of logs of one block, counted for each filter, that a thread matches before it notifies their
subscribers."""

FULL: Final = ":full"
"""Suffix of the topic of whole transactions; without it the topic is that of their hashes."""

_encode: Final = msgspec.json.Encoder().encode


def subscribe(rpc: EvmRpc, exchange: SocketExchange, kind: object, argument: object) -> str:
    """eth_subscribe: subscribe to a kind of event; returns the ID of the subscription.

    Raises:
        JsonRpcError: -32601, there is no such kind; -32602, its argument cannot be read; -32000, it names too many
            transactions.
    """
    if not isinstance(kind, str):
        raise invalid_params("expected subscription name as first argument")
    if kind not in {HEADS, LOGS, PENDING, ACCEPTED, SYNCING, RECEIPTS}:
        raise JsonRpcError(METHOD_NOT_FOUND, f'no "{kind[:200]}" subscription in eth namespace')
    try:
        topic, payload = _topic(kind, argument)
    except InvalidParam as error:
        raise invalid_params(f"invalid argument 1: {error.text}") from error
    rpc.heads.reset_to(blocks.head(rpc.chain).number)
    return exchange.subscribe(topic, payload)


def unsubscribe(exchange: SocketExchange, identifier: str) -> bool:
    """eth_unsubscribe: end a subscription; returns true.

    Raises:
        JsonRpcError: -32000, this connection has no such subscription.
    """
    if not exchange.unsubscribe(identifier):
        raise server_error("subscription not found")
    return True


def _topic(kind: str, argument: object) -> tuple[str, LogFilter | frozenset[Hash] | None]:
    """Return the topic of a subscription, and its filter: a log filter, a set of hashes (empty for all), or None."""
    if kind == LOGS:
        if argument is None:
            raise invalid_params("missing value for required argument 1")
        return LOGS, params_logs.log_criteria(argument).log_filter
    if kind == RECEIPTS:
        hashes = params_logs.transaction_hashes(argument)
        if len(hashes) > MAX_HASHES:
            raise server_error(
                "exceed max number of transaction hashes allowed per transactionReceipts subscription"
            )
        return RECEIPTS, frozenset(hashes)
    if kind in {PENDING, ACCEPTED}:
        full = argument is not None and params.boolean(argument)
        return (kind + FULL if full else kind), None
    if argument is not None:
        raise invalid_params("too many arguments, want at most 1")
    return kind, None


async def head_accepted(rpc: EvmRpc, number: int, block_hash: bytes) -> None:
    """Send every head from the last one that was sent up to this height, in order.

    The announcement's hash is not needed, because accepted blocks do not fork.
    """
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
    listeners = rpc.hub
    if listeners.subscriptions(PENDING):
        for item in hashes:
            await listeners.publish(PENDING, _encode(wire.hexed(item)))
    if listeners.subscriptions(PENDING + FULL):
        for found in await in_thread(_whole, rpc, [Hash(block_hash) for block_hash in hashes]):
            await listeners.publish(PENDING + FULL, _encode(found))


def _whole(rpc: EvmRpc, hashes: Sequence[Hash]) -> list[wire.Json]:
    """Return transactions of the pool; those that are in a block now are returned as they were before."""
    waiting = pool.transactions(rpc.chain, hashes)
    found = []
    for block_hash in hashes:
        known = waiting.get(block_hash) or pool.find(rpc.chain, block_hash)
        if isinstance(known, tuple):
            known = known[0].transactions[known[1]]
        if known is not None:
            found.append(wire.pool_transaction(known))
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
    listeners = rpc.hub
    kept = rpc.rendered.of(block)
    if listeners.subscriptions(HEADS):
        await listeners.publish(HEADS, bytes(kept.header()))
    await _send_logs(rpc, block)
    await _send_receipts(rpc, block)
    for index, transaction in enumerate(block.transactions):
        if listeners.subscriptions(ACCEPTED):
            await listeners.publish(ACCEPTED, _encode(wire.hexed(transaction.hash)))
        if listeners.subscriptions(ACCEPTED + FULL):
            await listeners.publish(ACCEPTED + FULL, bytes(kept.transaction(index)))


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
            await rpc.hub.send(members, [receipts])


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
    await rpc.hub.send(members, found.texts())
