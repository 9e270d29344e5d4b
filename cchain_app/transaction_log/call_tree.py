"""The calls of a transaction as a tree of lines, as Foundry draws it. Pure.

      [27431] 0x5FbDB2315678afecb367f032d93F642f64180aa3::transfer(0x7099…79C8, 5)
        ├─ [2534] 0xe7f1…0512::balanceOf(0xf39F…2266) [staticcall]
        │   └─ ← [Return] 0x0000…0005
        ├─ emit Transfer(from: 0xf39F…2266, to: 0x7099…79C8, value: 5)
        └─ ← [Return] 0x0000…0001

The number is the gas that a call used, with the calls in it and before refunds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from cchain_app.evm import failures
from cchain_app.evm.tracing import Frame
from cchain_app.transaction_log.console import messages_of
from cchain_app.transaction_log.declarations import KnownSignatures, cut_hex
from cchain_app.transaction_log.reasons import reverted_with
from primitives.hexadecimal import checksum_address

MAX_LINES: Final = 1000
"""Lines of a tree that are shown."""

_MAX_LINE: Final = 2000
"""Characters of a line that are shown."""

_MARKS: Final = {
    "STATICCALL": " [staticcall]", "DELEGATECALL": " [delegatecall]", "CALLCODE": " [callcode]",
}  # fmt: skip


def call_tree(frames: Sequence[Frame], known: KnownSignatures) -> tuple[str, ...]:
    """Return the lines of a transaction's or call's tree.

    Unspecified: a return value is shown in hexadecimal, because the log knows no types of return values; a frame
    without output ends with `[Stop]`. Logs of failed frames are not shown, because they were undone.

    Args:
        frames: The recorded frames, in depth-first order.
        known: Names of functions, events and errors.
    """
    lines = list(islice(_lines(frames, known), MAX_LINES + 1))
    if len(lines) > MAX_LINES:
        lines[MAX_LINES:] = [f"… (more than {MAX_LINES} lines)"]
    return tuple(lines)


@dataclass(slots=True)
class _OpenCall:
    """A frame whose end has not been drawn."""

    frame: Frame
    logs: int = 0
    """Its logs that have been drawn."""
    calls: int = 0
    """Its calls that have been drawn."""


def _lines(frames: Sequence[Frame], known: KnownSignatures) -> Iterator[str]:
    stack: list[_OpenCall] = []
    for frame in frames:
        while stack and stack[-1].frame.depth >= frame.depth:
            yield from _end(stack.pop(), known)
        if stack:
            yield from _logs(stack[-1], known)
            stack[-1].calls += 1
        yield _line(frame.depth, _head(frame, known))
        if frame.type != "SELFDESTRUCT":
            stack.append(_OpenCall(frame))
    while stack:
        yield from _end(stack.pop(), known)


def _line(depth: int, text: str, mark: str = "├─") -> str:
    shown = text if len(text) <= _MAX_LINE else text[:_MAX_LINE] + "…"
    return f"  {'│   ' * (depth - 1)}{mark} {shown}" if depth else shown


def _logs(of: _OpenCall, known: KnownSignatures, *, to_the_end: bool = False) -> Iterator[str]:
    """Draw the logs of a frame that come before its next call, or all that are left."""
    logs = of.frame.logs
    while of.logs < len(logs) and (to_the_end or logs[of.logs].position <= of.calls):
        log = logs[of.logs].log
        yield _line(of.frame.depth + 1, f"emit {known.event(log.topics, log.data, log.address)}")
        of.logs += 1


def _end(of: _OpenCall, known: KnownSignatures) -> Iterator[str]:
    yield from _logs(of, known, to_the_end=True)
    yield _line(of.frame.depth + 1, f"← {_result(of.frame, known)}", "└─")


def _head(frame: Frame, known: KnownSignatures) -> str:
    to = "an unknown address" if frame.to is None else checksum_address(frame.to)
    value = f"{{value: {frame.value}}}" if frame.value and frame.type != "DELEGATECALL" else ""
    if frame.type == "SELFDESTRUCT":
        return f"selfdestruct to {to}{value}"
    if frame.type.startswith("CREATE"):
        return f"[{frame.gas_used}] → new {to}{value}"
    messages = tuple(messages_of([frame]))
    if messages:
        to, called = "console", f"::log({', '.join(messages)})"
    elif frame.precompile:
        called = f"({cut_hex(frame.input)})"
    else:
        name, arguments = known.call(frame.input, frame.to)
        called = f"::{name}{value}({arguments})"
    return f"[{frame.gas_used}] {to}{called}{_MARKS.get(frame.type, '')}"


def _result(frame: Frame, known: KnownSignatures) -> str:
    if frame.error == failures.REVERTED:
        contracts = () if frame.to is None else (frame.to,)
        words = reverted_with(frame.output, known, contracts).removeprefix("reverted ")
        return f"[Revert] {words.removeprefix('with ')}"
    if frame.error is not None:
        return f"[Failed] {frame.error}"
    if frame.type.startswith("CREATE"):
        return f"[Return] {len(frame.output)} bytes of code"
    return f"[Return] {cut_hex(frame.output)}" if frame.output else "[Stop]"
