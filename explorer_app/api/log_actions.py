"""Etherscan's module `logs`: topics by position, each pair connected by `and` or `or`."""

from itertools import combinations
from typing import ClassVar, Final

from cchain_app.selectors import blocks
from explorer_app.api.replies import (
    LATEST,
    WINDOW,
    ActionError,
    ActionReply,
    Query,
    TooMuch,
    text_of,
)
from explorer_app.selectors import ledger
from explorer_app.selectors.ledger import ListedLog, ListTooLong, LogSearch, RangeTooLong, Span
from primitives.hexadecimal import HexError, decode_fixed

PLACES: Final = 4
PAGE: Final = 1000


class NothingToSearch(ActionError):
    """The request has neither an address nor a topic."""

    text: ClassVar[str] = "Error! Missing address or topics"


class BadTopic(ActionError):
    """The text is not a topic."""

    text: ClassVar[str] = "Error! Invalid topic format"


class RangeTooLarge(ActionError):
    """The range has more blocks than are searched without an index."""

    text: ClassVar[str] = (
        f"Error! More than {ledger.UNINDEXED_BLOCKS} blocks can be searched by topic0 only, or by the address of a "
        f"contract with at most {ledger.MAX_EVENTS} events"
    )


def getlogs(query: Query) -> ActionReply:
    """Return logs in the order of the chain.

    Unspecified: topics connected by `or`, directly or through other topics, form a group of which any must match;
    all groups must match. Heights above the head count as the head.
    """
    address = query.address() if query.text("address") else None
    groups = _groups(query)
    if address is None and not groups:
        raise NothingToSearch
    head = blocks.head(query.site.evm).number
    first = query.height("fromBlock", default=0)
    last = min(query.height("toBlock", default=LATEST), head)
    range_ = query.range(count=PAGE)
    span = Span(first, last, range_.skip, min(range_.maximum, WINDOW))
    try:
        rows = ledger.logs(query.site.evm, LogSearch(address, groups), span)
    except RangeTooLong as error:
        raise RangeTooLarge from error
    except ListTooLong as error:
        raise TooMuch from error
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
        raise BadTopic from error


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
