"""Etherscan's modules `transaction`, `block`, `logs` and `proxy`."""

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any, Final

import msgspec

from cchain_app.selectors import blocks
from explorer_app.api.replies import (
    LATEST,
    WINDOW,
    ActionError,
    ActionReason,
    ActionReply,
    Bare,
    Query,
    text_of,
)
from explorer_app.selectors import cchain, ledger, sums, traces
from explorer_app.selectors.ledger import ListedLog, ListTooLong, LogSearch, RangeTooLong, Span
from primitives.hexadecimal import HexError, decode_fixed

RECENT: Final = 100
"""Number of blocks from which the time of a future block is estimated."""


def getstatus(query: Query) -> ActionReply:
    """Return whether a transaction failed, and the engine's error; an unknown transaction counts as not failed."""
    evm = query.site.evm
    tx_hash = query.hash()
    row = cchain.transaction(evm, tx_hash)
    if row is None or row.succeeded:
        return ActionReply.ok({"isError": "0", "errDescription": ""})
    trace = traces.traced_in_turn(evm, query.site.executing, row.number, row.position).trace
    why = None if trace is None else trace.error
    return ActionReply.ok({"isError": "1", "errDescription": why or "execution failed"})


def gettxreceiptstatus(query: Query) -> ActionReply:
    """Return 1 for a successful transaction, 0 for a failed one, and an empty text for an unknown one."""
    receipt = ledger.receipt(query.site.evm, query.hash())
    return ActionReply.ok({"status": "" if receipt is None else str(int(receipt[1]))})


def getblockreward(query: Query) -> ActionReply:
    """Return the reward of a block's coinbase: the tips."""
    evm = query.site.evm
    number = query.number("blockno")
    row = cchain.block(evm, number) if number <= blocks.head(evm).number else None
    if row is None:
        raise ActionError(ActionReason.NO_SUCH_BLOCK)
    return ActionReply.ok(
        {
            "blockNumber": str(row.number),
            "timeStamp": str(row.timestamp),
            "blockMiner": text_of(row.miner),
            "blockReward": str(sums.tips(evm, [number])[number]),
            "uncles": [],
            "uncleInclusionReward": "0",
            "uncleRewards": "0",
        }
    )


def getblockcountdown(query: Query) -> ActionReply:
    """Return the time until a height, estimated from the rate of the last hundred blocks."""
    evm = query.site.evm
    head = blocks.head(evm)
    number = query.number("blockno")
    if number <= head.number:
        raise ActionError(ActionReason.BLOCK_PASSED)
    recent = cchain.blocks(evm, count=RECENT)
    steps = max(1, recent[0].number - recent[-1].number)
    seconds = (recent[0].timestamp - recent[-1].timestamp) / steps
    left = number - head.number
    return ActionReply.ok(
        {
            "CurrentBlock": str(head.number),
            "CountdownBlock": str(number),
            "RemainingBlock": str(left),
            "EstimateTimeInSec": f"{left * seconds:.1f}",
        }
    )


def getblocknobytime(query: Query) -> ActionReply:
    """Return the height of the block closest to a time: before it (the default) or after it, as `closest` says."""
    before = query.text("closest").lower() != "after"
    timestamp = min(query.number("timestamp"), 2**63 - 1)
    block: Any = ledger.block_at(query.site.evm, timestamp, before=before)
    if block is None:
        raise ActionError(ActionReason.NO_SUCH_BLOCK)
    return ActionReply.ok(str(block))


OF_TRANSACTIONS: Final = {action.__name__: action for action in (getstatus, gettxreceiptstatus)}
OF_BLOCKS: Final = {
    action.__name__: action for action in (getblockreward, getblockcountdown, getblocknobytime)
}


POSITIONS: Final = 4
PAGE: Final = 1000


def getlogs(query: Query) -> ActionReply:
    """Return logs in the order of the chain.

    Unspecified: topics connected by `or`, directly or through other topics, form a group of which any must match;
    all groups must match. Heights above the head count as the head.
    """
    address = query.address() if query.text("address") else None
    groups = _groups(query)
    if address is None and not groups:
        raise ActionError(ActionReason.NOTHING_TO_SEARCH)
    head = blocks.head(query.site.evm).number
    first = query.height("fromBlock", default=0)
    last = min(query.height("toBlock", default=LATEST), head)
    range_ = query.range(count=PAGE)
    span = Span(first, last, range_.skip, min(range_.maximum, WINDOW))
    try:
        rows = ledger.logs(query.site.evm, LogSearch(address, groups), span)
    except RangeTooLong as error:
        raise ActionError(
            ActionReason.RANGE_TOO_LARGE, blocks=ledger.UNINDEXED_BLOCKS, events=ledger.MAX_EVENTS
        ) from error
    except ListTooLong as error:
        raise ActionError(ActionReason.TOO_MUCH) from error
    return ActionReply.rows([_log(row) for row in rows], "No records found")


def _groups(query: Query) -> list[list[tuple[int, bytes]]]:
    """Return the topics in groups; a log matches a group if it has any of its topics."""
    topics = {
        position: _topic(query.text(f"topic{position}"))
        for position in range(POSITIONS)
        if query.text(f"topic{position}")
    }
    groups = {position: position for position in topics}
    for first, other in combinations(topics, 2):
        if query.text(f"topic{first}_{other}_opr").lower() == "or":
            old, new = groups[other], groups[first]
            groups = {at: new if group == old else group for at, group in groups.items()}
    return [
        [(position, topics[position]) for position, group in groups.items() if group == number]
        for number in sorted(set(groups.values()))
    ]


def _topic(text: str) -> bytes:
    try:
        return decode_fixed(text, 32, "common.Hash")
    except HexError as error:
        raise ActionError(ActionReason.BAD_TOPIC) from error


def _log(row: ListedLog) -> dict[str, object]:
    return {
        "address": text_of(row.address),
        "topics": [text_of(topic) for topic in row.topics],
        "data": text_of(row.data),
        "blockNumber": hex(row.number),
        "blockHash": text_of(row.block_hash),
        "timeStamp": hex(row.timestamp),
        "gasPrice": hex(row.price),
        "gasUsed": hex(row.gas_used),
        "logIndex": hex(row.log_index),
        "transactionHash": text_of(row.transaction_hash),
        "transactionIndex": hex(row.transaction_index),
    }


OF_LOGS: Final = {"getlogs": getlogs}


_TAG: Final = "latest"
_CALL: Final = ("to", "from", "data", "value", "gas", "gasPrice")


def ask(query: Query, method: str, params: list[Any]) -> Mapping[str, Any]:
    """Return the members of the C-Chain interface's response; on a fork it may be the remote node's response."""
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    answer = query.site.rpc().dispatcher.answer(body)
    assert answer is not None  # the request has an id
    members: dict[str, msgspec.Raw] = msgspec.json.decode(answer, type=dict[str, msgspec.Raw])
    return members


def ask_for_text(query: Query, method: str, params: list[Any]) -> str | None:
    """Return the result of a method; None if it is not a string."""
    try:
        return msgspec.json.decode(ask(query, method, params)["result"], type=str)
    except (KeyError, msgspec.ValidationError):
        return None


def _tag(query: Query, name: str = "tag") -> str:
    return query.text(name) or _TAG


def _quantity(text: str) -> str:
    """Return a number in JSON-RPC's format if it is decimal; other texts are returned unchanged."""
    return hex(int(text)) if text.isdecimal() and text.isascii() and len(text) < 79 else text


def _call(query: Query) -> dict[str, str]:
    fields = {name: query.text(name) for name in _CALL if query.text(name)}
    return {
        name: text if name in {"to", "from", "data"} else _quantity(text)
        for name, text in fields.items()
    }


PARAMS: Final[Mapping[str, Callable[[Query], list[Any]]]] = {
    "eth_blockNumber": lambda _: [],
    "eth_getBlockByNumber": lambda q: [_tag(q), q.text("boolean").lower() == "true"],
    "eth_getBlockTransactionCountByNumber": lambda q: [_tag(q)],
    "eth_getTransactionByHash": lambda q: [q.text("txhash")],
    "eth_getTransactionByBlockNumberAndIndex": lambda q: [_tag(q), q.text("index")],
    "eth_getTransactionReceipt": lambda q: [q.text("txhash")],
    "eth_getTransactionCount": lambda q: [q.text("address"), _tag(q)],
    "eth_getCode": lambda q: [q.text("address"), _tag(q)],
    "eth_getStorageAt": lambda q: [q.text("address"), q.text("position"), _tag(q)],
    "eth_call": lambda q: [_call(q), _tag(q)],
    "eth_estimateGas": lambda q: [_call(q)],
    "eth_gasPrice": lambda _: [],
    "eth_sendRawTransaction": lambda q: [q.text("hex")],
}  # fmt: skip
"""The methods, each with a function that builds its parameters."""


def _action(method: str, params: Callable[[Query], list[Any]]) -> Callable[[Query], Bare]:
    def action(query: Query) -> Bare:
        return Bare(ask(query, method, params(query)))

    return action


OF_PROXY: Final = {method.lower(): _action(method, params) for method, params in PARAMS.items()}
