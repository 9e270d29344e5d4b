"""eth_subscribe: the kinds of subscriptions and their topics. `head_listener` sends the notifications."""

from typing import Final

from cchain_app.api.errors import server_error
from cchain_app.api.params import logs as params_logs
from cchain_app.api.params import values as params
from cchain_app.api.rpc import EvmRpc
from cchain_app.filters import LogFilter
from cchain_app.selectors import blocks
from jsonrpc.errors import METHOD_NOT_FOUND, InvalidParam, JsonRpcError, invalid_params
from jsonrpc.websocket.hub import SocketExchange
from primitives.evm import Hash

HEADS: Final = "newHeads"
LOGS: Final = "logs"
PENDING: Final = "newPendingTransactions"
ACCEPTED: Final = "newAcceptedTransactions"
SYNCING: Final = "syncing"
RECEIPTS: Final = "transactionReceipts"

MAX_HASHES: Final = 200
"""Maximum number of transaction hashes of one subscription to receipts, as in geth."""

FULL: Final = ":full"
"""Suffix of the topic of whole transactions; without it the topic is that of their hashes."""


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
