"""Write log entries: as lines for people, or as fields for log parsers. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from cchain_app.transaction_log.entries import (
    CallEntry,
    EmptyBlockEntry,
    Entry,
    SummaryEntry,
    TransactionEntry,
)
from cchain_app.transaction_log.reasons import FailureText
from primitives.hexadecimal import checksum_address
from primitives.printable import PLAIN, close_colours, one_line, printable

COIN: Final = 10**18
"""Wei of one coin."""

RED: Final = "\x1b[31m"
GREEN: Final = "\x1b[32m"

_NAME: Final = re.compile(r"[A-Za-z0-9_.]+")
_WIDTH: Final = 21
"""Width of names before values."""


class LogText(NamedTuple):
    """An entry in the form that the log accepts."""

    text: str
    """Lines for people, with colours."""
    fields: dict[str, Any]
    """The same as JSON fields; `event` names the kind of entry."""


def write(entry: Entry, symbol: str) -> LogText:
    """Return an entry in its written form.

    Args:
        entry: The entry.
        symbol: The symbol of the chain's coin.
    """
    match entry:
        case TransactionEntry():
            return LogText(_lines(_transaction_lines(entry, symbol)), _transaction_fields(entry))
        case EmptyBlockEntry():
            return _empty_block(entry)
        case SummaryEntry():
            return _summary(entry)
        case CallEntry():
            return _call(entry)


def coins(wei: int) -> str:
    """Return the exact amount in coins."""
    whole, rest = divmod(wei, COIN)
    fraction = f"{rest:018d}".rstrip("0")
    return f"{whole}.{fraction}" if fraction else str(whole)


def _lines(lines: Iterator[str]) -> str:
    return "\n".join(lines)


def _named(name: str, value: str) -> str:
    return f"  {name + ':':<{_WIDTH}}{value}"


def _transaction_lines(entry: TransactionEntry, symbol: str) -> Iterator[str]:
    if entry.to is None:
        assert entry.created is not None
        yield _named("Contract created", checksum_address(entry.created))
    elif entry.method is not None:
        yield _named("Method", one_line(entry.method))
    yield _named("Transaction", _hex(entry.hash))
    yield _named("From", checksum_address(entry.sender))
    if entry.to is not None:
        yield _named("To", checksum_address(entry.to))
    yield _named("Value", f"{coins(entry.value)} {symbol}")
    yield _named("Gas used", f"{entry.gas_used} of {entry.gas_limit}")
    yield _named(f"Block #{entry.block_number}", _hex(entry.block_hash))
    inside = entry.recorded
    if not entry.succeeded:
        yield from _failure_lines(inside.failure or FailureText("failed"))
    yield from _inside_lines(inside.messages, inside.missing, inside.tree)
    yield ""


def _failure_lines(failure: FailureText) -> Iterator[str]:
    reason = _printable(failure.reason)
    yield _named("Error", "\n    ".join(f"{RED}{line}{PLAIN}" for line in reason.split("\n")))
    if failure.frame is not None:
        yield _named("Failed in", one_line(failure.frame))


def _inside_lines(
    messages: Sequence[str], missing: str | None, tree: Sequence[str]
) -> Iterator[str]:
    if missing is not None:
        yield _named("Not recorded", _printable(missing))
    if messages:
        yield ""
        yield "  console.log:"
        for message in messages:
            for line in _printable(message).split("\n"):
                yield close_colours(f"    {line}") if line else ""
    if tree:
        yield ""
        yield "  Traces:"
        yield from (f"    {one_line(line)}" for line in tree)


def _printable(text: str) -> str:
    return printable(text, colours=True)


def _transaction_fields(entry: TransactionEntry) -> dict[str, Any]:
    inside = entry.recorded
    fields: dict[str, Any] = {
        "event": "transaction",
        "hash": _hex(entry.hash),
        "from": checksum_address(entry.sender),
        "to": None if entry.to is None else checksum_address(entry.to),
        "contract": None if entry.created is None else checksum_address(entry.created),
        "method": entry.method,
        "value": coins(entry.value),
        "gas_used": entry.gas_used,
        "gas_limit": entry.gas_limit,
        "block": entry.block_number,
        "block_hash": _hex(entry.block_hash),
        "succeeded": entry.succeeded,
    }
    if inside.failure is not None:
        fields["error"] = inside.failure.reason
        fields["failed_in"] = inside.failure.frame
    return fields | _inside_fields(inside.messages, inside.missing, inside.tree)


def _inside_fields(
    messages: Sequence[str], missing: str | None, tree: Sequence[str]
) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if messages:
        fields["console"] = list(messages)
    if tree:
        fields["traces"] = list(tree)
    if missing is not None:
        fields["not_recorded"] = missing
    return fields


def _empty_block(entry: EmptyBlockEntry) -> LogText:
    fee = "" if entry.base_fee is None else f" with base fee {entry.base_fee}"
    fields = {
        "event": "empty_block",
        "block": entry.number,
        "block_hash": _hex(entry.hash),
        "base_fee": entry.base_fee,
    }
    return LogText(f"Mined empty block #{entry.number}{fee}", fields)


def _summary(entry: SummaryEntry) -> LogText:
    parts = []
    if entry.first_block is not None:
        name = f"block #{entry.first_block}"
        if entry.last_block != entry.first_block:
            name = f"blocks #{entry.first_block} to #{entry.last_block}"
        many = "transaction" if entry.transactions == 1 else "transactions"
        parts.append(f"{name} with {entry.transactions} {many} and {entry.gas_used} gas")
    if entry.calls:
        parts.append(f"{entry.calls} {'call' if entry.calls == 1 else 'calls'}")
    fields = {
        "event": "summary",
        "first_block": entry.first_block,
        "last_block": entry.last_block,
        "transactions": entry.transactions,
        "gas_used": entry.gas_used,
        "calls": entry.calls,
    }
    return LogText(f"Too many to show one by one: {', '.join(parts)}", fields)


def _call(entry: CallEntry) -> LogText:
    # The caller chooses the name: in quotes it cannot look like the beginning of another record.
    method = entry.method if _NAME.fullmatch(entry.method) else f'"{one_line(entry.method)}"'
    times = f" ({entry.count} times)" if entry.count > 1 else ""
    head = f"{GREEN}{method}{PLAIN}" if entry.exists else f"{RED}{method}: no such method{PLAIN}"
    failed = () if entry.failure is None else _failure_lines(entry.failure)
    inside = entry.messages, entry.missing, entry.tree
    text = _lines(iter([head + times, *failed, *_inside_lines(*inside)]))
    fields: dict[str, Any] = {
        "event": "call",
        "method": entry.method,
        "count": entry.count,
        "exists": entry.exists,
    }
    if entry.failure is not None:
        fields["error"] = entry.failure.reason
        fields["failed_in"] = entry.failure.frame
        fields["code"] = entry.code
    return LogText(text, fields | _inside_fields(*inside))


def _hex(data: bytes) -> str:
    return "0x" + data.hex()
