"""Etherscan's module `logs`: topics by position, each pair connected by `and` or `or`."""

from itertools import combinations
from typing import Final

from cchain_app.selectors import blocks
from explorer_app.api.replies import (
    LATEST,
    WINDOW,
    ActionError,
    ActionReason,
    ActionReply,
    Query,
    text_of,
)
from explorer_app.selectors import ledger
from explorer_app.selectors.ledger import ListedLog, ListTooLong, LogSearch, RangeTooLong, Span
from primitives.hexadecimal import HexError, decode_fixed

PLACES: Final = 4
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
        place: _topic(query.text(f"topic{place}"))
        for place in range(PLACES)
        if query.text(f"topic{place}")
    }
    groups = {place: place for place in topics}
    for first, other in combinations(topics, 2):
        if query.text(f"topic{first}_{other}_opr").lower() == "or":
            old, new = groups[other], groups[first]
            groups = {at: new if group == old else group for at, group in groups.items()}
    return [
        [(place, topics[place]) for place, group in groups.items() if group == number]
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
        "logIndex": hex(row.place),
        "transactionHash": text_of(row.transaction_hash),
        "transactionIndex": hex(row.transaction_index),
    }


ACTIONS: Final = {"getlogs": getlogs}
